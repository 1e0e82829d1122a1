"""Inactivity: an active conversation counts as paused after some minutes without activity."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow

REASON = "idle"
"""The `stop_reason` of a conversation that was paused because it was idle."""
_RECENT_MICROS = 30 * 86_400 * 1_000_000


def find_idle(rows: Iterable[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the active rows without activity for more than `minutes`; none if `minutes` is 0."""
    if not minutes:
        return []
    limit = latest_idle(minutes)
    return [row for row in rows if row.status == "active" and row.last_active < limit]


def find_auto_paused(rows: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that were paused for being idle and were active in the last 30 days."""
    since = int(time.time() * 1_000_000) - _RECENT_MICROS
    return [
        row
        for row in rows
        if row.status == "paused" and row.last_active >= since and row.stop_reason == REASON
    ]


def show_effective_status(rows: list[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the rows with the status that users should see.

    `minutes` is the time after which an active conversation is idle. A row that is idle, but
    `active` on disk, becomes `paused`. A row that was paused because it was idle, and has recent
    activity, becomes `active`.
    """
    changed = {row.identity: "paused" for row in find_idle(rows, minutes)}
    changed |= {row.identity: "active" for row in _find_continued(rows, minutes)}
    if not changed:
        return rows
    return [
        replace(row, status=status) if (status := changed.get(row.identity)) else row
        for row in rows
    ]


def latest_idle(minutes: float) -> int:
    """Return the time, in microseconds since 1970, that was `minutes` ago.

    A conversation whose last activity is before this time is idle.
    """
    return int((time.time() - minutes * 60) * 1_000_000)


def _find_continued(rows: Iterable[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the rows that were paused because they were idle, and have activity since."""
    limit = latest_idle(minutes)
    return [
        row
        for row in rows
        if row.last_active >= limit and row.status == "paused" and row.stop_reason == REASON
    ]
