"""The list of the sessions of `cortext spawn`, and the search by id, title or words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.lookup import misspelt, resolve
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.stores.log import LogStore

STATUSES = ("active", "completed", "interrupted")
SAME = {"paused": "interrupted"}
"""Other words for a status, each with the status that it means."""
_PATIENCE = 8.0
"""The most seconds that a search through the messages may take."""


def list_spawned(
    agent: str | None = None, status: str | None = None, *, lost: str = "interrupted"
) -> list[ConversationRow]:
    """Return the sessions of `spawn` with this agent and status, the latest first.

    None matches any. `lost` is the status of a session that is active on disk but open in no
    process.
    """
    with Catalog.at_home() as catalog:
        rows = catalog.log_sessions(paths.spawn_sessions(), lost=lost)
    return filter_rows(rows, agent, status)


def filter_rows(
    rows: list[ConversationRow], agent: str | None, status: str | None
) -> list[ConversationRow]:
    """Return the rows with this agent and this status. None matches any."""
    if agent is not None:
        rows = [row for row in rows if row.agent == agent]
    if status is not None:
        wanted = SAME.get(status, status)
        rows = [row for row in rows if row.status == wanted]
    return rows


class SpawnMatches(NamedTuple):
    """The sessions that match a query, and a note for the user about the search or ""."""

    rows: list[ConversationRow]
    note: str = ""


def find_spawned(query: str) -> SpawnMatches:
    """Return the sessions of `spawn` that a query names.

    The query is compared with ids, beginnings of ids, words of titles, words of messages, and
    similar titles, in this order. The first comparison that finds a session decides.
    """
    rows = list_spawned()
    found = resolve(query, rows)
    if found or not query.strip():
        return SpawnMatches(found)
    said = _said(query, rows)
    return said if said.rows else said._replace(rows=misspelt(query, rows))


def _said(text: str, rows: Sequence[ConversationRow]) -> SpawnMatches:
    """Return the sessions whose messages contain all words, the latest first.

    Sessions with all words in one message are preferred. The search stops after `_PATIENCE`
    seconds; then the result has a note.
    """
    end = time.monotonic() + _PATIENCE
    words = text.casefold().split()
    together: list[ConversationRow] = []
    apart: list[ConversationRow] = []
    for number, row in enumerate(rows):
        if time.monotonic() > end:
            note = f"only the latest {number} of {len(rows)} sessions were looked through"
            return SpawnMatches(together or apart, note)
        found = None if row.is_damaged else _look(row, words)
        if found is not None:
            (together if found else apart).append(row)
    return SpawnMatches(together or apart)


def _look(row: ConversationRow, words: Sequence[str]) -> bool | None:
    """Return True if one message has all words, False if only all messages together have them.

    Return None if a word is missing or the session cannot be read.
    """
    missing = set(words)
    try:
        for block in LogStore(row.path.rpartition("/")[0]).blocks(row.key):
            for turn in block.messages:
                said = turn.content.casefold()
                here = {word for word in words if word in said}
                if len(here) == len(set(words)):
                    return True
                missing -= here
    except (CortextError, OSError) as error:
        import logging

        log = logging.getLogger("cortext.features")
        log.warning("%s was not looked through: %s", row.key, error)
        return None
    return None if missing else False
