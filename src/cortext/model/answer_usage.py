"""The tokens and the cost of a model's answers."""

from __future__ import annotations

import msgspec


class TokenUsage(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one answer, by kind. `reasoning` is a part of `output`."""

    input: int = 0
    """Fresh input: the prompt without the tokens that were read from or written to the cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    """Input that was written to the cache for five minutes."""
    cache_write_1h: int = 0
    """Input that was written to the cache for one hour."""
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write + self.cache_write_1h


class UsageRecord(msgspec.Struct, frozen=True, gc=False):
    """The tokens that a transcript records for one answer.

    `key` identifies the answer: copies of the answer have the same key, also in other transcripts.
    `time` is in microseconds since 1970. `recorded_usd` is the cost that the tool recorded, or
    None.
    """

    key: str
    time: int
    model: str
    tokens: TokenUsage
    recorded_usd: float | None = None


class UsageFile(msgspec.Struct, frozen=True):
    """The usage records that were read from one file of a session.

    `state` is a text that says how much of the file was read. With `keep`, the file was read from
    its last state on, so earlier records stay valid. Otherwise `records` replace them. `is_failed`
    says that the file could not be read now, so it must be read again next time.
    """

    path: str
    state: str
    records: list[UsageRecord]
    keep: bool = False
    is_failed: bool = False
