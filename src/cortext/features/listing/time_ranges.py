"""Parse times as users and agents write them.

Examples are `2026`, `2026-03..2026-05`, "last week", `3d` and "2 weeks ago".
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import msgspec

from cortext import clock
from cortext.errors import CortextError

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_COUNTED_PERIOD = re.compile(r"(?:the )?(?:last|past) (\d{1,4}) (day|week|month|year)s?", re.ASCII)
_NAMED_PERIOD = re.compile(r"(?:the )?(this|last|past) (day|week|month|year)")
_TIME_AGO = re.compile(r"(\d{1,5}|an?) ?([a-z]+)(?: ago)?", re.ASCII)
_UNITS = {
    "minute": ("m", "min", "mins", "minutes"),
    "hour": ("h", "hr", "hrs", "hours"),
    "day": ("d", "days"),
    "week": ("w", "wk", "weeks"),
    "month": ("mo", "mon", "months"),
    "year": ("y", "yr", "years"),
}
_UNIT_BY_NAME = {short: unit for unit, names in _UNITS.items() for short in (unit, *names)}
_MAX_CHARACTERS = 64
_RANGE_HINT = (
    "give YYYY, YYYY-MM, YYYY-MM-DD, A..B, today, yesterday, last week, last 10 days, or 7d"
)
_TIME_HINT = "give 2026-01-31, 2026-01, yesterday, last week, 30m, 12h, 7d, 4w, 3mo, or 2 weeks ago"


class Span(msgspec.Struct, frozen=True):
    """A span of time. `since` is included, and `until` is not.

    Times are in microseconds since 1970. None means no limit.
    """

    since: int | None = None
    until: int | None = None


def date_range(text: str | None) -> Span:
    """Return the span of time that a text such as "last week" means.

    Dates are in local time. A week begins on Monday, so "last week" ended on Sunday. `3d` means the
    time since three days ago. None or an empty text means all of time. Raises CortextError for a
    text that is not a time.
    """
    if text is None or not text.strip():
        return Span()
    words = _normalize(text)
    try:
        first, end = _parse_range(words)
    except (ValueError, OverflowError):
        raise _error(text, "date range", _RANGE_HINT) from None
    if first and end and first >= end:
        raise CortextError(f"{text!r} ends before it begins", hint="write the earlier date first")
    return Span(first and _micros(first), end and _micros(end))


def since(text: str) -> int:
    """Return the start of a time such as "2026-03" or "3d", in microseconds since 1970.

    Raises CortextError for a text that is not a time.
    """
    return _parse_bound(text, 0)


def until(text: str) -> int:
    """Return the end of a time such as "2026-03" or "3d", in microseconds since 1970.

    For a day or a month, this is the moment at which the next day or month begins. `3d` means the
    single moment three days ago. Raises CortextError for a text that is not a time.
    """
    return _parse_bound(text, 1)


def _parse_bound(text: str, end: int) -> int:
    """Parse a time such as "last week".

    Return its start if `end` is 0, and its end if `end` is 1.
    """
    try:
        return _micros(_parse_time(_normalize(text))[end])
    except (ValueError, OverflowError):
        raise _error(text, "time", _TIME_HINT) from None


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


def _parse_range(words: str) -> tuple[datetime | None, datetime | None]:
    """Parse a range such as "2026-03..2026-05", or one time.

    Return its start and its end. None means no limit.
    """
    before, dots, after = words.partition("..")
    if not dots:
        first, end = _parse_time(words)
        return first, None if first == end else end
    first, last = before.strip(), after.strip(" .")
    if not first and not last:
        raise ValueError(words)
    return (_parse_time(first)[0] if first else None), (_parse_time(last)[1] if last else None)


def _parse_time(words: str) -> tuple[datetime, datetime]:
    """Parse one time, such as "2026-03" or "3d".

    Return its start and its end. If the text means a single moment, such as "3d", the start and the
    end are equal.
    """
    if len(words) > _MAX_CHARACTERS:
        raise ValueError(words)
    if found := _TIME_AGO.fullmatch(words):
        count = int(found[1]) if found[1].isdecimal() else 1
        moment = _time_ago(count, _UNIT_BY_NAME.get(found[2], ""))
    elif words[10:11] in ("t", " ") and words[:4].isdecimal():
        moment = datetime.fromisoformat(words.upper()).astimezone()
    else:
        first, end = _parse_days(words)
        return _midnight(first), _midnight(end)
    return moment, moment


def _time_ago(count: int, unit: str) -> datetime:
    if not unit:
        raise ValueError(unit)
    now = clock.now().astimezone()
    if unit in ("minute", "hour"):
        return now - timedelta(minutes=count * (60 if unit == "hour" else 1))
    # Keep the local time of day, even if daylight saving time changed in between.
    day = _subtract(now.date(), count, unit)
    return datetime.combine(day, now.time()).astimezone()


def _parse_days(words: str) -> tuple[date, date]:
    """Parse words such as "last week". Return the first day, and the day after the last day."""
    today = clock.now().astimezone().date()
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return day, day + timedelta(days=1)
    if found := _DATE.fullmatch(words):
        return _calendar_span(*(int(part) if part else 0 for part in found.groups()))
    if found := _COUNTED_PERIOD.fullmatch(words):
        return _subtract(today, int(found[1]), found[2]), today + timedelta(days=1)
    if found := _NAMED_PERIOD.fullmatch(words):
        return _named_span(today, found[1], found[2])
    raise ValueError(words)


def _calendar_span(year: int, month: int, day: int) -> tuple[date, date]:
    if day:
        first = date(year, month, day)
        return first, first + timedelta(days=1)
    first = date(year, month or 1, 1)
    return first, _subtract(first, -1, "month" if month else "year")


def _named_span(today: date, which: str, unit: str) -> tuple[date, date]:
    tomorrow = today + timedelta(days=1)
    if which == "past":
        return _subtract(today, 1, unit), tomorrow
    begin = {
        "day": today,
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    return (begin, tomorrow) if which == "this" else (_subtract(begin, 1, unit), begin)


def _subtract(day: date, count: int, unit: str) -> date:
    """Return the date that is `count` days, weeks, months or years before `day`."""
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1)
    first = date(months // 12, months % 12 + 1, 1)
    # Use the last day of a month that is too short for this day.
    end = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(day.day, end.day))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time()).astimezone()


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def _error(text: str, what: str, hint: str) -> CortextError:
    shown = repr(text)
    shown = shown if len(shown) <= 80 else shown[:80] + "…"
    return CortextError(f"{shown} is not a valid {what}", hint=hint)
