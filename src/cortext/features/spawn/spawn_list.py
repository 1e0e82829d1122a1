"""List the sessions of `aur spawn`, and find one by id, title or words."""

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
"""Words that a filter takes for others."""
_PATIENCE = 8.0
"""Seconds that turns are looked through for words."""


def list_spawned(
    agent: str | None = None, status: str | None = None, *, lost: str = "interrupted"
) -> list[ConversationRow]:
    """Return the sessions of an agent and with a status, or all, the latest first. `lost` is the
    word for interrupted sessions."""
    with Catalog.at_home() as catalog:
        rows = catalog.log_sessions(paths.spawn_sessions(), lost=lost)
    return filter_rows(rows, agent, status)


def filter_rows(
    rows: list[ConversationRow], agent: str | None, status: str | None
) -> list[ConversationRow]:
    """Those of the rows that were had with an agent and have a status; None is any."""
    if agent is not None:
        rows = [row for row in rows if row.agent == agent]
    if status is not None:
        wanted = SAME.get(status, status)
        rows = [row for row in rows if row.status == wanted]
    return rows


class SpawnMatches(NamedTuple):
    """The one that is meant, several, or none; and what a person should know about the search."""

    rows: list[ConversationRow]
    note: str = ""


def find_spawned(query: str) -> SpawnMatches:
    """Find sessions by id, by the beginning of an id, by words of the title, by words that were
    said, or by a misspelt title. The first of these that any session matches decides."""
    rows = list_spawned()
    found = resolve(query, rows)
    if found or not query.strip():
        return SpawnMatches(found)
    said = _said(query, rows)
    return said if said.rows else said._replace(rows=misspelt(query, rows))


def _said(text: str, rows: Sequence[ConversationRow]) -> SpawnMatches:
    """Those in which all the words were said; in one turn, if there is such a one. The latest
    first, for as long as a person has patience."""
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
    """Whether one turn has all the words; None if not even all turns have them."""
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
