"""Text from anybody's file as lists show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cortext.index.database import plain
from cortext.model.text import clean


def shown(text: str) -> str:
    """On one line; half characters have no place in a database."""
    return plain(clean(text, lines=False))


def shown_all(texts: Iterable[str]) -> list[str]:
    """Those of the texts of which something is left."""
    return [text for text in map(shown, texts) if text]


def shown_native(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tool sessions that a head names, as TOOL:ID."""
    return [
        f"{shown(str(each.get('tool') or '')).replace(':', ' ')}:{id}"
        for each in entries
        if (id := shown(str(each.get("session_id") or "")))
    ]
