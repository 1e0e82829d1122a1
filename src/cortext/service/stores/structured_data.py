"""The type of structured data, and the name of an item in structured data."""

from __future__ import annotations

from typing import Any, cast

_NAMING = ("name", "title", "subject", "query", "topic", "label", "id")


def type_of(data: Any) -> str:
    """Return the value of the key `type` in structured data, or "" if there is none."""
    found = cast("dict[str, Any]", data).get("type") if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""


def name_of(item: Any) -> str:
    """Return the name that people would use for an item in structured data, or ""."""
    if isinstance(item, dict):
        fields = cast("dict[str, Any]", item)
        found = (fields[key] for key in _NAMING if isinstance(fields.get(key), str))
        return next(found, "")
    return item if isinstance(item, str) else ""
