"""Capture the new messages of tool sessions before conversations are listed."""

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

    `rows` are the conversations to list, and `sessions` are tool sessions that have new messages.
    The result is sorted by recency. The capture stops after about `patience` seconds; None means no
    limit. It also works if no hooks are installed.
    """
    deadline = None if patience is None else time.monotonic() + patience
    indexes: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        for id in row.session_ids:
            indexes.setdefault(id, []).append(index)
    updated, captured = list(rows), list[ConversationRow]()
    for session in sessions:
        if deadline is not None and time.monotonic() > deadline:
            break
        for index in indexes.get(session.key, ()):
            updated[index] = capture_pending(updated[index])
        captured.append(session)
    catalog.remember_captured(captured)
    return sorted(updated, key=recency, reverse=True)
