"""The tokens that one answer of a model used."""

from __future__ import annotations

import msgspec


class TokenUsage(msgspec.Struct, frozen=True):
    """The tokens of one answer, by kind. `reasoning` is a part of `output`."""

    input: int = 0
    """Fresh input, without cache reads and writes."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    """Kept for five minutes."""
    cache_write_1h: int = 0
    """Kept for an hour."""
    reasoning: int = 0
