"""The type of structured data, and the names of its items.

Structured data is any JSON value that a program stores with a message.
"""

from __future__ import annotations

from typing import Any, cast

_NAMING = ("name", "title", "subject", "query", "topic", "label", "id")


def type_of(data: Any) -> str:
    """Return the text under the key `type` in structured data, or "" if there is none."""
    found = cast("dict[str, Any]", data).get("type") if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""


def name_of(item: Any) -> str:
    """Return the name that a user would say for an item of structured data, or "" without a name.

    The name of a dict is its first text under `name`, `title` or a similar key. The name of a text
    is the text itself.
    """
    if isinstance(item, dict):
        fields = cast("dict[str, Any]", item)
        found = (fields[key] for key in _NAMING if isinstance(fields.get(key), str))
        return next(found, "")
    return item if isinstance(item, str) else ""
