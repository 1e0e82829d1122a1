"""Usage in blocks of five hours, the periods in which plans such as Claude's limit their users."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from cortext.catalog.usage_table import UsageSum
from cortext.features.usage.block_times import BLOCK, find_block_starts, is_valid_time
from cortext.features.usage.usage_totals import UsageTotals


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
    parts = [part for part in sums if is_valid_time(part.time)]
    starts = find_block_starts(part.time for part in parts)
    blocks = [UsageBlock(start, start + BLOCK, UsageTotals()) for start in starts]
    for part in parts:
        blocks[bisect_right(starts, part.time) - 1].totals.add(part)
    if blocks and blocks[-1].start <= now < blocks[-1].end:
        _project(blocks[-1], now)
    return blocks


def _project(block: UsageBlock, now: int) -> None:
    passed = max(now - block.start, 1)
    block.is_current = True
    block.projected_usd = block.totals.cost_usd * BLOCK / passed
    block.projected_tokens = block.totals.tokens * BLOCK // passed
