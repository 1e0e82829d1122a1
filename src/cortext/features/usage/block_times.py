"""The blocks of five hours to which answers belong.

A block begins at the full hour of its first answer and ends five hours later. The next answer after
its end begins the next block.
"""

from __future__ import annotations

from collections.abc import Iterable

_HOUR = 3_600_000_000
BLOCK = 5 * _HOUR
"""The length of a block in microseconds."""
_LAST_TIME = 253_000_000_000_000_000
"""A time in the year 9987. Later times cannot be shown in every time zone."""


def is_valid_time(time: int) -> bool:
    """Return whether an answer of this time belongs to a block.

    A transcript may have no time for an answer, or a time that is not possible.
    """
    return 0 < time < _LAST_TIME


def find_block_starts(times: Iterable[int]) -> list[int]:
    """Return the start of each block, in ascending order.

    `times` are the times of the answers in microseconds since 1970. Invalid times are left out.
    """
    starts: list[int] = []
    for time in sorted(filter(is_valid_time, times)):
        if not starts or time >= starts[-1] + BLOCK:
            starts.append(time - time % _HOUR)
    return starts
