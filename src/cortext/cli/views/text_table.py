"""Columns of text for tables with thousands of rows: widths, alignment and times."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from cortext.cli.terminal_text import cells, fit


def find_width(column: Sequence[str]) -> int:
    """Return how many columns of a terminal the widest cell of a table column needs."""
    # Many cells are equal, and cells that are not ASCII take long to measure.
    return max(map(len, column) if is_plain(column) else map(cells, set(column)))


def is_plain(column: Sequence[str]) -> bool:
    """Return whether the cells are ASCII, so that each character needs one column of a terminal."""
    return "".join(column).isascii()


def align(column: Sequence[str], width: int, *, right: bool = False) -> list[str]:
    """Return the cells in exactly `width` columns of a terminal, cut or padded with spaces.

    `right` aligns to the right, if no cell must be cut.
    """
    if not is_plain(column) or max(map(len, column)) > width:
        return [fit(cell, width) for cell in column]
    fill = str.rjust if right else str.ljust
    return [fill(cell, width) for cell in column]


def format_local_times(micros: Iterable[int]) -> list[str]:
    """Return times in the local time zone, as `2026-01-31 14:05`.

    The arguments are microseconds since 1970. For speed, the time zone is looked up once for each
    day and not for each time.
    """
    two = [f"{number:02}" for number in range(60)]
    minutes = [f"{hour}:{minute}" for hour in two[:24] for minute in two]
    date, midnight, first, last = "", 0, 0, 0
    shown: list[str] = []
    for each in micros:
        if not first <= each < last:
            date, midnight, first, last = _day_of(each // 1_000_000)
        shown.append(date + minutes[(each - midnight) // 60_000_000])
    return shown


def _day_of(seconds: int) -> tuple[str, int, int, int]:
    """Return the date of a time, its midnight, and the first and last time with that midnight.

    The times are microseconds. If the clock changes on that day, the range is only one second.
    """
    now = time.localtime(seconds)
    midnight = seconds - now.tm_hour * 3600 - now.tm_min * 60 - now.tm_sec
    first, last = midnight, midnight + 86_400
    ahead = time.localtime(first).tm_gmtoff, time.localtime(last - 1).tm_gmtoff
    if ahead != (now.tm_gmtoff, now.tm_gmtoff):
        first, last = seconds, seconds + 1
    date = f"{now.tm_year:04}-{now.tm_mon:02}-{now.tm_mday:02} "
    return date, midnight * 1_000_000, first * 1_000_000, last * 1_000_000
