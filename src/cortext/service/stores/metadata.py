"""The metadata of a conversation: any JSON object that a program stores with the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortext.model.json_values import json_copy
from cortext.service.stores.conversation_json import decode_object


def copied(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a deep copy of `metadata`, or {} if it is None.

    ValueError is raised if `metadata` cannot be a JSON object.
    """
    if metadata is not None and not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"metadata must be a mapping, not {type(metadata).__name__}")
    return json_copy(dict(metadata or {}), "metadata")


def merged(known: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata `known` with the values in `changes`.

    The value None in `changes` removes a key.
    """
    combined = {**known, **changes}
    return {
        key: combined[key] for key in combined if key not in changes or combined[key] is not None
    }


def of_lines(data: bytes) -> dict[str, Any]:
    """Decode the metadata of a conversation in Redis.

    The first line is a JSON object. Each further line is a JSON object with later changes. The
    changes are merged here, because a merge on the Redis server could damage numbers and empty
    lists.
    """
    first_line, *changes = data.split(b"\n")
    metadata = decode_object(first_line)
    for each in changes:
        metadata = merged(metadata, decode_object(each))
    return metadata
