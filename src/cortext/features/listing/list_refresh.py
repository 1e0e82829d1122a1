"""Reading that a list causes: new messages of conversations while the list waits, and transcripts
that there was no time for in a process of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow, recency
from cortext.features.archive.background_sync import start_detached
from cortext.features.capture.capture import capture_pending

_PROGRAM = "from cortext.features.listing.list_refresh import read_all; read_all()"


def read_the_rest() -> bool:
    """Start a process that reads the transcripts which the catalog does not know. Return whether it
    was started: in CI nothing runs on after a command."""
    if os.environ.get("CI"):
        return False
    return start_detached("-c", _PROGRAM)


def read_all() -> None:
    """Bring the catalog up to date with every transcript."""
    with Catalog.at_home() as catalog:
        catalog.tool_sessions()


def capture_grown(
    catalog: Catalog,
    rows: list[ConversationRow],
    sessions: Sequence[ConversationRow],
    patience: float | None,
) -> list[ConversationRow]:
    """Bring the new messages of tools' sessions into their conversations, for about `patience`
    seconds, and return the rows of the list after that. No hook and no stop is needed for it."""
    end = None if patience is None else time.monotonic() + patience
    holders: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for id in row.session_ids:
            holders.setdefault(id, []).append(place)
    now, seen = list(rows), list[ConversationRow]()
    for session in sessions:
        if end is not None and time.monotonic() > end:
            break
        for place in holders.get(session.key, ()):
            now[place] = capture_pending(now[place])
        seen.append(session)
    catalog.remember_captured(seen)
    return sorted(now, key=recency, reverse=True)
