"""List the sessions of `cortext spawn`."""

from __future__ import annotations

from contextlib import closing

from cortext import paths
from cortext.catalog.catalog_database import catalog_path, open_catalog
from cortext.catalog.log_session_refresh import list_logs
from cortext.catalog.row import AUR, ConversationRow

STATUSES = ("active", "completed", "interrupted")
STATUS_SYNONYMS = {"paused": "interrupted"}
"""Other words that users may write for a status, and the status that each means."""


def list_spawned(
    agent: str | None = None, status: str | None = None, *, lost: str = "interrupted"
) -> list[ConversationRow]:
    """Return the sessions that `cortext spawn` wrote, the latest first.

    Only sessions with this agent and this status are returned. None matches every agent or status.
    `lost` is the status to show for interrupted sessions. A session is also interrupted if its file
    says "active" but no process has it open, for example because the process was killed.
    """
    with closing(open_catalog(catalog_path())) as database:
        rows = list_logs(database, paths.spawn_sessions(), AUR, lost)
    return filter_rows(rows, agent, status)


def filter_rows(
    rows: list[ConversationRow], agent: str | None, status: str | None
) -> list[ConversationRow]:
    """Return the rows with this agent and this status. None matches every agent or status."""
    if agent is not None:
        rows = [row for row in rows if row.agent == agent]
    if status is not None:
        wanted = STATUS_SYNONYMS.get(status, status)
        rows = [row for row in rows if row.status == wanted]
    return rows
