"""JSON of a framework, kept so that it comes back byte for byte."""

from __future__ import annotations

from typing import Any, cast

from cortext.model import json_codec

_TEXT = "json"


def to_store(raw: bytes) -> Any:
    """What a record holds for this JSON: its value, or the text where the value would be written
    otherwise, as a number may be."""
    data = json_codec.decode(raw)
    if json_codec.encode(data) == raw and not _is_text(data):
        return data
    return {_TEXT: raw.decode("utf-8")}


def from_store(stored: Any) -> bytes:
    """The JSON again."""
    return stored[_TEXT].encode("utf-8") if _is_text(stored) else json_codec.encode(stored)


def value_of(stored: Any) -> Any:
    """The value of the JSON."""
    return json_codec.decode(from_store(stored)) if _is_text(stored) else stored


def _is_text(stored: Any) -> bool:
    if not isinstance(stored, dict):
        return False
    kept = cast("dict[str, Any]", stored)
    return list(kept) == [_TEXT] and isinstance(kept[_TEXT], str)
