"""Find sessions of `cortext spawn` by id, by title or by words of their messages."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

from cortext.catalog.lookup import misspelt, resolve
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.features.spawn.spawn_list import list_spawned
from cortext.stores.log import LogStore

_log = logging.getLogger("cortext.features")
_SEARCH_SECONDS = 8.0
"""The maximum number of seconds for a search through the messages."""


class SpawnMatches(NamedTuple):
    """The sessions that match a query, and a note about the search for the user, or ""."""

    rows: list[ConversationRow]
    note: str = ""


def find_spawned(query: str) -> SpawnMatches:
    """Return the sessions of `cortext spawn` that a query names.

    The query is compared with ids, then with beginnings of ids, words of titles, words of messages,
    and similar titles. The first comparison that finds a session gives the result.
    """
    rows = list_spawned()
    found = resolve(query, rows)
    if found or not query.strip():
        return SpawnMatches(found)
    matches = _search_messages(query, rows)
    return matches if matches.rows else matches._replace(rows=misspelt(query, rows))


def _search_messages(text: str, rows: Sequence[ConversationRow]) -> SpawnMatches:
    """Return the sessions whose messages contain all words of a text, the latest first.

    If some sessions have all words in one message, return only these sessions. The search stops
    after `_SEARCH_SECONDS` seconds; then the result has a note.
    """
    end = time.monotonic() + _SEARCH_SECONDS
    words = text.casefold().split()
    together: list[ConversationRow] = []
    spread: list[ConversationRow] = []
    for number, row in enumerate(rows):
        if time.monotonic() > end:
            note = f"Only the latest {number} of {len(rows)} sessions were searched."
            return SpawnMatches(together or spread, note)
        found = None if row.is_damaged else _match_words(row, words)
        if found is not None:
            (together if found else spread).append(row)
    return SpawnMatches(together or spread)


def _match_words(row: ConversationRow, words: Sequence[str]) -> bool | None:
    """Return True if one message has all words, and False if they are in different messages.

    Return None if a word is missing or the session cannot be read.
    """
    missing = set(words)
    try:
        for block in LogStore(row.path.rpartition("/")[0]).blocks(row.key):
            for turn in block.messages:
                content = turn.content.casefold()
                present = {word for word in words if word in content}
                if len(present) == len(set(words)):
                    return True
                missing -= present
    except (CortextError, OSError) as error:
        _log.warning("%s was not searched: %s", row.key, error)
        return None
    return None if missing else False
