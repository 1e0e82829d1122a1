"""Storage of a framework's JSON text inside a record, without changing any byte of the text.

A record is one stored message of a session. Its fields hold decoded JSON values.
"""

from __future__ import annotations

from typing import Any, cast

from cortext.model import json_codec

_JSON_TEXT = "json"


def to_store(raw: bytes) -> Any:
    """Convert the JSON text `raw` to a value that a record (a stored message) can hold.

    The value is the decoded JSON, if encoding it again gives the same bytes. Otherwise the value is
    `{"json": TEXT}`, for example because our encoder writes a number differently.
    """
    data = json_codec.decode(raw)
    if json_codec.encode(data) == raw and not _is_json_text(data):
        return data
    return {_JSON_TEXT: raw.decode("utf-8")}


def from_store(stored: Any) -> bytes:
    """Return the original JSON text of a value that `to_store` returned."""
    return (
        stored[_JSON_TEXT].encode("utf-8") if _is_json_text(stored) else json_codec.encode(stored)
    )


def value_of(stored: Any) -> Any:
    """Return the decoded JSON of a value that `to_store` returned."""
    return json_codec.decode(from_store(stored)) if _is_json_text(stored) else stored


def _is_json_text(stored: Any) -> bool:
    if not isinstance(stored, dict):
        return False
    data = cast("dict[str, Any]", stored)
    return list(data) == [_JSON_TEXT] and isinstance(data[_JSON_TEXT], str)
