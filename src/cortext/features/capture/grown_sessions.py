"""The capture of tool sessions that have new messages, before conversations are listed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow, recency
from cortext.features.capture.capture import capture_pending


def capture_grown(
    catalog: Catalog,
    rows: list[ConversationRow],
    sessions: Sequence[ConversationRow],
    patience: float | None,
) -> list[ConversationRow]:
    """Capture new messages of tool sessions, and return `rows` with the updated conversations.

    `sessions` are the rows of tool sessions that have grown. The rows are sorted by recency. The
    capture stops after about `patience` seconds; None means no limit. It works without hooks.
    """
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
