"""The layout of the drawings on the page of charts: positions and sizes, without markup.

The drawings are a calendar of the last year, horizontal bars, and columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from cortext.features.stats.stats import DayStats, Share

WEEKS = 53
STEP, CELL = 14, 11
"""The distance between two days of the calendar, and the width of the square of one day."""
_TOP, _LEFT = 20, 34
_LEVELS = 4
_MOST = 8
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Cell(NamedTuple):
    """The square of one day in the calendar, with the activity on that day.

    `level` determines the colour: 0 means no activity, and 4 means the most activity.
    """

    x: int
    y: int
    level: int
    day: date
    conversations: int
    messages: int


class Label(NamedTuple):
    x: int
    y: int
    text: str


class Calendar(NamedTuple):
    cells: list[Cell]
    months: list[Label]
    weekdays: list[Label]
    width: int
    height: int
    months_said: list[tuple[str, int, int]]
    """The calendar as text: each month with its conversations and messages, latest first."""


class ChartBar(NamedTuple):
    """A bar for one tool, type or model. The longest bar of a chart has the `length` 100."""

    share: Share
    length: float


class Column(NamedTuple):
    x: float
    y: float
    height: float
    value: int
    label: str


def calendar(days: Mapping[str, DayStats], today: date) -> Calendar:
    """Return the calendar of the last year: one column for each week, with Monday at the top.

    `days` has the activity of each day, by ISO date. A day that is not in `days` has no activity.
    """
    first = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))
    shown = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    most = max(_weight(_on(days, day)) for day in shown)
    cells: list[Cell] = []
    months: list[Label] = []
    said: dict[str, tuple[int, int]] = {}
    for number, day in enumerate(shown):
        x, y = _LEFT + number // 7 * STEP, _TOP + number % 7 * STEP
        found = _on(days, day)
        level = _level(_weight(found), most)
        cells.append(Cell(x, y, level, day, found.conversations, found.messages))
        # A month that begins in the last column has no room for its name.
        if day.day == 1 and x + 2 * STEP < _LEFT + WEEKS * STEP:
            months.append(Label(x + (STEP if day.weekday() else 0), _TOP - 8, f"{day:%b}"))
        name = f"{day:%B %Y}"
        before = said.get(name, (0, 0))
        said[name] = before[0] + found.conversations, before[1] + found.messages
    names = [Label(_LEFT - 8, _TOP + n * STEP + CELL - 2, WEEKDAYS[n][:3]) for n in (0, 2, 4)]
    told = [(name, *counts) for name, counts in reversed(said.items()) if any(counts)]
    return Calendar(cells, months, names, _LEFT + WEEKS * STEP, _TOP + 7 * STEP, told)


def _on(days: Mapping[str, DayStats], day: date) -> DayStats:
    return days.get(day.isoformat()) or DayStats(day.isoformat())


def _weight(day: DayStats) -> int:
    return day.messages or day.conversations


def _level(value: int, most: int) -> int:
    """Return the level of a day's activity, from 0 to 4. `most` is the activity of the busiest day.

    The scale is logarithmic, so that one very busy day does not make all others look empty.
    """
    if not value:
        return 0
    return min(max(math.ceil(math.log1p(value) / math.log1p(most) * _LEVELS), 1), _LEVELS)


def bars(shares: Sequence[Share], by: str = "conversations") -> list[ChartBar]:
    """Return bars for the eight largest shares, and one bar for all other shares together.

    `by` is the field of `Share` that a bar shows, such as "conversations" or "tokens".
    """
    ranked = sorted(shares, key=lambda share: -getattr(share, by))
    shown, rest = ranked[:_MOST], ranked[_MOST:]
    if rest:
        shown.append(
            Share(
                f"{len(rest)} others",
                sum(share.conversations for share in rest),
                sum(share.messages for share in rest),
                sum(share.tokens for share in rest),
                sum(share.cost_usd for share in rest),
            )
        )
    most = max((getattr(share, by) for share in shown), default=0) or 1
    return [
        ChartBar(share, round(100 * getattr(share, by) / most, 2)) for share in shown if share.name
    ]


def columns(values: Sequence[int], labels: Sequence[str], *, height: int = 80) -> list[Column]:
    """Return one column of a chart for each value, from left to right.

    Each column is 10 units wide, with a gap of 4. The largest value gets the full `height`.
    """
    most = max(values, default=0) or 1
    tall = [round(height * value / most, 2) for value in values]
    return [
        Column(n * 14, height - tall[n], tall[n], value, label)
        for n, (value, label) in enumerate(zip(values, labels, strict=True))
    ]
