"""The metadata of a conversation: any JSON object that a program stores with a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortext.model.json_values import json_copy
from cortext.service.stores.conversation_json import decode_object


def copied(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a deep copy of `metadata`, or {} if it is None.

    ValueError is raised if `metadata` is not a JSON object.
    """
    if metadata is not None and not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"metadata is a mapping, not {type(metadata).__name__}")
    return json_copy(dict(metadata or {}), "metadata")


def merged(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata `known` with the keys of `changes` set.

    A key whose value in `changes` is None is removed.
    """
    every = {**known, **changes}
    return {key: every[key] for key in every if key not in changes or every[key] is not None}


def of_lines(data: bytes) -> dict[str, Any]:
    """Decode metadata in the form in which Redis stores it, and return the current metadata.

    The first line is a JSON object. Each further line is a JSON object with later changes. So the
    server only appends lines; merging on the server could damage numbers and empty lists.
    """
    first, *changes = data.split(b"\n")
    found = decode_object(first)
    for each in changes:
        found = merged(found, decode_object(each))
    return found
