"""Find idle conversations: active conversations that had no activity for some minutes.

An idle conversation counts as paused.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow

REASON = "idle"
"""The `stop_reason` of a conversation that was paused because it was idle."""
_RECENT_MICROS = 30 * 86_400 * 1_000_000


def find_idle(rows: Iterable[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the active rows whose last activity is more than `minutes` minutes ago.

    If `minutes` is 0, no conversation is idle.
    """
    if not minutes:
        return []
    limit = idle_limit(minutes)
    return [row for row in rows if row.status == "active" and row.last_active < limit]


def find_auto_paused(rows: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Return the rows that cortext paused because they were idle.

    Rows whose last activity is more than 30 days ago are left out.
    """
    since = int(time.time() * 1_000_000) - _RECENT_MICROS
    return [
        row
        for row in rows
        if row.status == "paused" and row.last_active >= since and row.stop_reason == REASON
    ]


def show_effective_status(rows: list[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the rows with the status that users should see.

    The stored status may be different. A conversation is idle after `minutes` minutes without
    activity. An active row becomes `paused` if its conversation is idle. A row that cortext paused
    for this reason becomes `active` if its conversation has activity again.
    """
    changed = {row.identity: "paused" for row in find_idle(rows, minutes)}
    changed |= {row.identity: "active" for row in _find_continued(rows, minutes)}
    if not changed:
        return rows
    return [
        replace(row, status=status) if (status := changed.get(row.identity)) else row
        for row in rows
    ]


def idle_limit(minutes: float) -> int:
    """Return the time that was `minutes` minutes ago, in microseconds since 1970.

    A conversation whose last activity is before this time is idle.
    """
    return int((time.time() - minutes * 60) * 1_000_000)


def _find_continued(rows: Iterable[ConversationRow], minutes: float) -> list[ConversationRow]:
    """Return the rows that cortext paused because they were idle, but that have activity again.

    Their last activity is at most `minutes` minutes ago.
    """
    limit = idle_limit(minutes)
    return [
        row
        for row in rows
        if row.last_active >= limit and row.status == "paused" and row.stop_reason == REASON
    ]
