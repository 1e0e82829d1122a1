"""What a program says of a conversation beside its messages: any JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortext.model.json_values import json_copy
from cortext.service.stores.conversation_json import decode_object


def copied(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata for a store to keep; ValueError for what is none."""
    if metadata is not None and not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"metadata is a mapping, not {type(metadata).__name__}")
    return json_copy(dict(metadata or {}), "metadata")


def merged(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """What is known, with these changes: a key that becomes None goes."""
    every = {**known, **changes}
    return {key: every[key] for key in every if key not in changes or every[key] is not None}


def of_lines(data: bytes) -> dict[str, Any]:
    """Metadata that is stored as an object and the changes to it, each in a line: so a server that
    cannot merge them without harm to numbers and empty lists only has to add a line."""
    first, *changes = data.split(b"\n")
    found = decode_object(first)
    for each in changes:
        found = merged(found, decode_object(each))
    return found
