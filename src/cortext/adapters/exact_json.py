"""Conversion of a framework's JSON to a record and back, without changing a byte."""

from __future__ import annotations

from typing import Any, cast

from cortext.model import json_codec

_TEXT = "json"


def to_store(raw: bytes) -> Any:
    """Return what a record stores for this JSON.

    This is the decoded value if encoding the value gives the same bytes. Otherwise it is a
    dictionary with the JSON text, for example for a number that our encoder writes differently.
    """
    data = json_codec.decode(raw)
    if json_codec.encode(data) == raw and not _is_text(data):
        return data
    return {_TEXT: raw.decode("utf-8")}


def from_store(stored: Any) -> bytes:
    """Return the original JSON bytes of what `to_store` returned."""
    return stored[_TEXT].encode("utf-8") if _is_text(stored) else json_codec.encode(stored)


def value_of(stored: Any) -> Any:
    """Return the decoded value of what `to_store` returned."""
    return json_codec.decode(from_store(stored)) if _is_text(stored) else stored


def _is_text(stored: Any) -> bool:
    if not isinstance(stored, dict):
        return False
    kept = cast("dict[str, Any]", stored)
    return list(kept) == [_TEXT] and isinstance(kept[_TEXT], str)
