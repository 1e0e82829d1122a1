"""Functions that find the type of structured data, and the name of an item in it.

Structured data is any JSON value that a program stores with a message, such as a list of search
results. An item is one element of it, such as one search result.
"""

from __future__ import annotations

from typing import Any, cast

_NAME_KEYS = ("name", "title", "subject", "query", "topic", "label", "id")


def type_of(data: Any) -> str:
    """Return the text under the key `type` of structured data, or "" if there is no such text."""
    value = cast("dict[str, Any]", data).get("type") if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def name_of(item: Any) -> str:
    """Return the name of an item, or "" if it has no name.

    The name of a dict is the first text under `name`, `title` or a similar key. The name of a text
    is the text itself.
    """
    if isinstance(item, dict):
        fields = cast("dict[str, Any]", item)
        names = (fields[key] for key in _NAME_KEYS if isinstance(fields.get(key), str))
        return next(names, "")
    return item if isinstance(item, str) else ""
