"""The tokens and the cost of a model's answers."""

from __future__ import annotations

import msgspec


class TokenUsage(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one answer, by kind. The tokens of `reasoning` are also counted in `output`."""

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
    """The tokens of one answer, as a transcript records them.

    `key` identifies the answer. A copy of the answer in another transcript has the same key. `time`
    is in microseconds since 1970. `recorded_usd` is the cost in the transcript, or None. If
    `is_copy` is true, the transcript says that another session wrote the answer.
    """

    key: str
    time: int
    model: str
    tokens: TokenUsage
    recorded_usd: float | None = None
    is_copy: bool = False


class UsageFile(msgspec.Struct, frozen=True):
    """The usage records that were read from one file of a session.

    `state` is a text that says how much of the file was read. If `keep` is true, `records` comes
    only from the new part of the file, and the earlier records stay valid. If `keep` is false,
    `records` replaces the earlier records. If `is_failed` is true, the file could not be read, and
    the next refresh reads it again. `parent` is the id of the session that started this session as
    its sub-agent, or "".
    """

    path: str
    state: str
    records: list[UsageRecord]
    keep: bool = False
    is_failed: bool = False
    parent: str = ""
