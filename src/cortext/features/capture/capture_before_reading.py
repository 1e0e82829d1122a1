"""Capture the new messages of tool sessions before conversations are listed or shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from msgspec import structs

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow, recency
from cortext.errors import CortextError
from cortext.stores.folder import FolderStore

_log = logging.getLogger("cortext.features")


def capture_pending(row: ConversationRow) -> ConversationRow:
    """Capture new messages before a conversation is shown, and return its new row.

    A failure is only logged, because the stored messages can still be shown.
    """
    if row.tool or not row.status:
        return row
    try:
        if not FolderStore(row.workspace).head_at(row.place).native:
            return row
        return _capture(row)
    except (OSError, CortextError) as error:
        _log.info("could not capture new messages of %s: %s", row.key, error)
        return row


def _capture(row: ConversationRow) -> ConversationRow:
    from cortext.features.capture.bindings import ConversationRef, row_of
    from cortext.features.capture.capture import capture

    if not capture(row.workspace, row.place).new:
        return row
    return structs.replace(row_of(ConversationRef(row.workspace, row.place)), key=row.key)


def capture_grown(
    catalog: Catalog,
    rows: list[ConversationRow],
    sessions: Sequence[ConversationRow],
    patience: float | None,
) -> list[ConversationRow]:
    """Capture new messages of tool sessions, and return `rows` with the updated conversations.

    `rows` are the conversations to list, and `sessions` are tool sessions that have new messages.
    The result is sorted by recency. The capture stops after about `patience` seconds; None means no
    limit. This keeps lists up to date even if no hooks are installed.
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
