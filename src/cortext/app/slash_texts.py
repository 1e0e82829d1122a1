"""Small texts of the slash commands."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cortext.app.binding import Bound
from cortext.clock import ago
from cortext.index.listed import Listed
from cortext.model.text import clean
from cortext.stores.layout import document_in

_LONGEST_TITLE = 80


def entries(rows: Sequence[Listed]) -> str:
    """Spec 000's list: type, title, last active, status and summary of each."""
    now = time.time()
    return "\n\n".join(
        f"{number}. [{row.kind or 'chat'}] {row.title}\n"
        f"   Last active: {ago(row.last_active, now)} | Status: {row.status}\n"
        f"   Summary: {row.summary or 'none yet'}"
        for number, row in enumerate(rows, 1)
    )


def title_of(topic: str) -> str:
    """The words of a topic, as far as a title goes."""
    line = " ".join(topic.split())
    if len(line) <= _LONGEST_TITLE:
        return line
    return f"{line[: _LONGEST_TITLE - 1].rpartition(' ')[0] or line[: _LONGEST_TITLE - 1]}…"


def document_of(bound: Bound) -> str:
    name = document_in(bound.place.folder)
    return f"{bound.place.folder}/{name}" if name else ""


def plain(text: str) -> str:
    return clean(text, lines=False)
