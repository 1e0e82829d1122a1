"""Inactivity: an active conversation counts as paused after some minutes without activity.

Lists import this module, so it imports next to nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from cortext.catalog.row import Listed

REASON = "idle"
"""The `stop_reason` of a conversation that was paused because it was idle."""


def find_idle(rows: Iterable[Listed], minutes: float) -> list[Listed]:
    """Return the active rows without activity for longer than `minutes`; 0 minutes is never."""
    if not minutes:
        return []
    limit = latest_idle(minutes)
    return [row for row in rows if row.status == "active" and row.last_active < limit]


def show_effective_status(rows: list[Listed], minutes: float) -> list[Listed]:
    """Return the rows with the status that counts: `paused` for what is idle and still `active` on
    disk, `active` for what was paused as idle and has activity since."""
    changed = {(row.root, row.path): "paused" for row in find_idle(rows, minutes)}
    changed |= {(row.root, row.path): "active" for row in _find_continued(rows, minutes)}
    if not changed:
        return rows
    return [
        _with_status(row, status) if (status := changed.get((row.root, row.path))) else row
        for row in rows
    ]


def latest_idle(minutes: float) -> int:
    """Return the time before which a last activity is idle, in microseconds since 1970."""
    return int((time.time() - minutes * 60) * 1_000_000)


def _find_continued(rows: Iterable[Listed], minutes: float) -> list[Listed]:
    """Return the rows that were paused as idle and have activity since."""
    limit = latest_idle(minutes)
    return [
        row
        for row in rows
        if row.last_active >= limit and row.status == "paused" and row.stop_reason == REASON
    ]


def _with_status(row: Listed, status: str) -> Listed:
    root, path, key, _, last_active, text = row  # `_replace` takes five times as long
    return Listed(root, path, key, status, last_active, text)
