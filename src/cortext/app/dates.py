"""A span of time as people and agents write it: `2026`, `2026-03..2026-05`, "last week"."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from cortext import clock
from cortext.errors import CortextError

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_COUNTED = re.compile(r"(?:the )?(?:last|past) (\d{1,4}) (day|week|month|year)s?", re.ASCII)
_NAMED = re.compile(r"(?:the )?(this|last|past) (day|week|month|year)")
_LONGEST = 64
_HINT = "give YYYY, YYYY-MM, YYYY-MM-DD, A..B, today, yesterday, last week, or last 10 days"


class Span(NamedTuple):
    """From a time until just before another, in microseconds since 1970; None is no limit."""

    since: int | None = None
    until: int | None = None


def date_range(text: str | None) -> Span:
    """The span that is meant, in local days; no text is all of time. CortextError for what is no
    such text. A week begins on Monday; the last one ended on Sunday."""
    if text is None or not text.strip():
        return Span()
    words = " ".join(text.casefold().split())
    if len(words) > _LONGEST:
        raise _error(text)
    try:
        first, end = _days(words)
    except (ValueError, OverflowError):
        raise _error(text) from None
    if first and end and first >= end:
        raise CortextError(f"{text!r} ends before it begins", hint="the earlier date comes first")
    return Span(_micros(first), _micros(end))


def _days(words: str) -> tuple[date | None, date | None]:
    """The first day, and the one after the last."""
    before, dots, after = words.partition("..")
    if not dots:
        return _one(words)
    first, last = before.strip(), after.strip(" .")
    if not first and not last:
        raise ValueError(words)
    return (_one(first)[0] if first else None), (_one(last)[1] if last else None)


def _one(words: str) -> tuple[date, date]:
    today = clock.now().astimezone().date()
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return day, day + timedelta(days=1)
    if found := _DATE.fullmatch(words):
        return _written(*(int(part) if part else 0 for part in found.groups()))
    if found := _COUNTED.fullmatch(words):
        return _back(today, int(found[1]), found[2]), today + timedelta(days=1)
    if found := _NAMED.fullmatch(words):
        return _named(today, found[1], found[2])
    raise ValueError(words)


def _written(year: int, month: int, day: int) -> tuple[date, date]:
    if day:
        first = date(year, month, day)
        return first, first + timedelta(days=1)
    first = date(year, month or 1, 1)
    return first, _back(first, -1, "month" if month else "year")


def _named(today: date, which: str, unit: str) -> tuple[date, date]:
    tomorrow = today + timedelta(days=1)
    if which == "past":
        return _back(today, 1, unit), tomorrow
    begin = {
        "day": today,
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    return (begin, tomorrow) if which == "this" else (_back(begin, 1, unit), begin)


def _back(day: date, count: int, unit: str) -> date:
    """So many days, weeks, months or years before a day."""
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    # The last of a month has no equal in a shorter one.
    end = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day.day, end.day))


def _micros(day: date | None) -> int | None:
    if day is None:
        return None
    from datetime import datetime, time

    return int(datetime.combine(day, time()).astimezone().timestamp() * 1_000_000)


def _error(text: str) -> CortextError:
    shown = repr(text)
    shown = shown if len(shown) <= 80 else shown[:80] + "…"
    return CortextError(f"{shown} is no range of dates", hint=_HINT)
