"""The layout of the drawings on the page of charts: positions and sizes, without markup.

The drawings are a calendar of the last year, horizontal bars, and vertical columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from cortext.features.stats.stats import DayStats, Share

WEEKS = 53
STEP, CELL = 14, 11
"""The distance between the squares of two days in the calendar, and the width of a square."""
_TOP, _LEFT = 20, 34
_LEVELS = 4
MAX_BARS = 8
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Cell(NamedTuple):
    """The square of one day in the calendar, with the activity of that day.

    `level` determines the colour, from 0 (no activity) to 4 (most activity).
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
    month_counts: list[tuple[str, int, int]]
    """The calendar as text: each month with its conversations and messages, latest first."""


class ChartBar(NamedTuple):
    """A bar for one tool, type or model. The longest bar in a chart has the `length` 100."""

    share: Share
    length: float


class Column(NamedTuple):
    x: float
    y: float
    height: float
    value: int
    label: str


def calendar(days: Mapping[str, DayStats], today: date) -> Calendar:
    """Return the calendar of the last year. Each column is a week that begins on Monday.

    `days` has the activity of each day, by ISO date. A missing day had no activity.
    """
    first = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))
    dates = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    most = max(_weight(_stats_of(days, day)) for day in dates)
    cells: list[Cell] = []
    months: list[Label] = []
    by_month: dict[str, tuple[int, int]] = {}
    for number, day in enumerate(dates):
        x, y = _LEFT + number // 7 * STEP, _TOP + number % 7 * STEP
        stats = _stats_of(days, day)
        level = _level(_weight(stats), most)
        cells.append(Cell(x, y, level, day, stats.conversations, stats.messages))
        # A month that begins in the last column has no room for its name.
        if day.day == 1 and x + 2 * STEP < _LEFT + WEEKS * STEP:
            months.append(Label(x + (STEP if day.weekday() else 0), _TOP - 8, f"{day:%b}"))
        name = f"{day:%B %Y}"
        before = by_month.get(name, (0, 0))
        by_month[name] = before[0] + stats.conversations, before[1] + stats.messages
    weekday_labels = [
        Label(_LEFT - 8, _TOP + n * STEP + CELL - 2, WEEKDAYS[n][:3]) for n in (0, 2, 4)
    ]
    month_counts = [(name, *counts) for name, counts in reversed(by_month.items()) if any(counts)]
    return Calendar(
        cells, months, weekday_labels, _LEFT + WEEKS * STEP, _TOP + 7 * STEP, month_counts
    )


def _stats_of(days: Mapping[str, DayStats], day: date) -> DayStats:
    return days.get(day.isoformat()) or DayStats(day.isoformat())


def _weight(day: DayStats) -> int:
    return day.messages or day.conversations


def _level(value: int, most: int) -> int:
    """Return the colour level of a day, from 0 (no activity) to 4 (most activity).

    `value` is the activity of the day, and `most` is the activity of the busiest day. The scale is
    logarithmic, so that one very busy day does not make all other days look empty.
    """
    if not value:
        return 0
    return min(max(math.ceil(math.log1p(value) / math.log1p(most) * _LEVELS), 1), _LEVELS)


def bars(shares: Sequence[Share], by: str = "conversations") -> list[ChartBar]:
    """Return one bar for each of the eight largest shares, and one bar for all others together.

    A `Share` has the numbers of one tool, type or model. `by` is the field that determines the
    length of a bar, such as "conversations" or "tokens". A share without a name gets no bar.
    """
    ranked = sorted(shares, key=lambda share: -getattr(share, by))
    shown, rest = ranked[:MAX_BARS], ranked[MAX_BARS:]
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

    Each column is 10 units wide, and the gaps are 4 units wide. The largest value has the full
    `height`.
    """
    most = max(values, default=0) or 1
    heights = [round(height * value / most, 2) for value in values]
    return [
        Column(n * 14, height - heights[n], heights[n], value, label)
        for n, (value, label) in enumerate(zip(values, labels, strict=True))
    ]
