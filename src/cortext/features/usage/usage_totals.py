"""The sum of the tokens and the cost of answers."""

from __future__ import annotations

import msgspec

from cortext.catalog.usage_table import UsageSum


class UsageTotals(msgspec.Struct):
    """The tokens and the cost of a number of answers.

    `reasoning` is a part of `output`. `cost_usd` is the sum of `recorded_usd`, which tools
    recorded, and `computed_usd`, which cortext computed from prices. `unpriced_answers` is the
    number of answers whose cost is unknown, because their model has no price.
    """

    answers: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    recorded_usd: float = 0.0
    computed_usd: float = 0.0
    unpriced_answers: int = 0

    def add(self, part: UsageSum) -> None:
        used = part.tokens
        self.answers += part.answers
        self.input += used.input
        self.output += used.output
        self.cache_read += used.cache_read
        self.cache_write += used.cache_write
        self.cache_write_1h += used.cache_write_1h
        self.reasoning += used.reasoning
        self.tokens += used.total
        self.cost_usd += part.usd
        self.recorded_usd += part.recorded_usd
        self.computed_usd += part.usd - part.recorded_usd
        self.unpriced_answers += part.unpriced

    def merge(self, other: UsageTotals) -> None:
        """Add the totals of other answers to these totals."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def rank_by_cost(totals: UsageTotals) -> tuple[float, int]:
    """Return a sort key that puts the most expensive usage first."""
    return -totals.cost_usd, -totals.tokens
