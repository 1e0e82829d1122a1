"""Measure and align the columns of large text tables, and format their times quickly."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from cortext.cli.terminal_text import cells, fit


def find_width(column: Sequence[str]) -> int:
    """Return the width of the widest cell in a table column, in terminal columns."""
    # Many cells are equal, and cells that are not ASCII take long to measure.
    return max(map(len, column) if is_plain(column) else map(cells, set(column)))


def is_plain(column: Sequence[str]) -> bool:
    """Return whether all cells are ASCII. Each character then needs exactly one terminal column."""
    return "".join(column).isascii()


def align(column: Sequence[str], width: int, *, right: bool = False) -> list[str]:
    """Return the cells, each cut or padded with spaces to exactly `width` terminal columns.

    With `right`, align the cells to the right. This works only if all cells are ASCII and no cell
    is too wide.
    """
    if not is_plain(column) or max(map(len, column)) > width:
        return [fit(cell, width) for cell in column]
    fill = str.rjust if right else str.ljust
    return [fill(cell, width) for cell in column]


def format_local_times(micros: Iterable[int]) -> list[str]:
    """Return times as text in the local time zone, such as `2026-01-31 14:05`.

    `micros` are microseconds since 1970. For speed, the time zone is looked up once for each day
    and not for each time.
    """
    two_digits = [f"{number:02}" for number in range(60)]
    minutes = [f"{hour}:{minute}" for hour in two_digits[:24] for minute in two_digits]
    date, midnight, first, last = "", 0, 0, 0
    shown: list[str] = []
    for time_in_micros in micros:
        if not first <= time_in_micros < last:
            date, midnight, first, last = _day_of(time_in_micros // 1_000_000)
        shown.append(date + minutes[(time_in_micros - midnight) // 60_000_000])
    return shown


def _day_of(seconds: int) -> tuple[str, int, int, int]:
    """Return the local day of a time, as `(date, midnight, start, end)`.

    `seconds` is the time in seconds since 1970. `date` is the day as text, such as "2024-05-31 ".
    `midnight`, `start` and `end` are times in microseconds since 1970. The day begins at
    `midnight`. The caller can use the result again for every time from `start` up to, but not
    including, `end`. This range is usually the whole day. If the clocks change on this day, the
    range is only the given second.
    """
    local_time = time.localtime(seconds)
    midnight = seconds - local_time.tm_hour * 3600 - local_time.tm_min * 60 - local_time.tm_sec
    first, last = midnight, midnight + 86_400
    offsets = time.localtime(first).tm_gmtoff, time.localtime(last - 1).tm_gmtoff
    if offsets != (local_time.tm_gmtoff, local_time.tm_gmtoff):
        first, last = seconds, seconds + 1
    date = f"{local_time.tm_year:04}-{local_time.tm_mon:02}-{local_time.tm_mday:02} "
    return date, midnight * 1_000_000, first * 1_000_000, last * 1_000_000
