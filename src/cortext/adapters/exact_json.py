"""Storage of a framework's JSON inside a record, so that the same bytes come back.

A record is one stored message of a session. Its fields hold decoded JSON values.
"""

from __future__ import annotations

from typing import Any, cast

from cortext.model import json_codec

_TEXT = "json"


def to_store(raw: bytes) -> Any:
    """Return a JSON value to store in a record for the JSON text `raw`.

    The value is the decoded JSON if encoding it again gives the same bytes. Otherwise the value is
    `{"json": TEXT}`, for example if our encoder writes a number differently.
    """
    data = json_codec.decode(raw)
    if json_codec.encode(data) == raw and not _is_text(data):
        return data
    return {_TEXT: raw.decode("utf-8")}


def from_store(stored: Any) -> bytes:
    """Return the original JSON text that `to_store` was called with. `stored` is its result."""
    return stored[_TEXT].encode("utf-8") if _is_text(stored) else json_codec.encode(stored)


def value_of(stored: Any) -> Any:
    """Return the decoded JSON of a value that `to_store` returned."""
    return json_codec.decode(from_store(stored)) if _is_text(stored) else stored


def _is_text(stored: Any) -> bool:
    if not isinstance(stored, dict):
        return False
    kept = cast("dict[str, Any]", stored)
    return list(kept) == [_TEXT] and isinstance(kept[_TEXT], str)
