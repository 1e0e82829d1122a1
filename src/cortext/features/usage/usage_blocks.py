"""Usage in blocks of five hours, the periods in which plans such as Claude's limit their users.

A block begins at the full hour of its first answer and ends five hours later. The next answer after
its end begins the next block.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cortext.catalog.usage_table import UsageSum
from cortext.features.usage.usage_totals import UsageTotals

_HOUR = 3_600_000_000
_BLOCK = 5 * _HOUR
_LAST_TIME = 253_000_000_000_000_000
"""A time in the year 9987. Later times cannot be shown in every time zone."""


class UsageBlock(msgspec.Struct):
    """The usage of five hours. `start` and `end` are in microseconds since 1970.

    `is_current` is true for the block that has begun and not ended. For this block, `projected_usd`
    and `projected_tokens` are the cost and the tokens that it will have at its end, if usage
    continues at the same rate. For other blocks, they are None.
    """

    start: int
    end: int
    totals: UsageTotals
    is_current: bool = False
    projected_usd: float | None = None
    projected_tokens: int | None = None


def split_into_blocks(sums: Iterable[UsageSum], now: int) -> list[UsageBlock]:
    """Return the blocks of all usage, the oldest first. `now` is in microseconds since 1970."""
    blocks: list[UsageBlock] = []
    for part in sorted(sums, key=lambda part: part.time):
        if not 0 < part.time < _LAST_TIME:
            continue  # the transcript has no valid time for the answer
        if not blocks or part.time >= blocks[-1].end:
            start = part.time - part.time % _HOUR
            blocks.append(UsageBlock(start, start + _BLOCK, UsageTotals()))
        blocks[-1].totals.add(part)
    if blocks and blocks[-1].start <= now < blocks[-1].end:
        _project(blocks[-1], now)
    return blocks


def _project(block: UsageBlock, now: int) -> None:
    passed = max(now - block.start, 1)
    block.is_current = True
    block.projected_usd = block.totals.cost_usd * _BLOCK / passed
    block.projected_tokens = block.totals.tokens * _BLOCK // passed
