"""All conversations of this machine, as the pages look them up."""

from __future__ import annotations

import hashlib
import threading
import time

from cortext import paths
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.errors import SessionNotFoundError
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.registry import display_name

FRESH = 0.5
"""Seconds for which a look at all files is good enough."""
_OTHERS = {AUR: "spawn", DOCUMENT: "programs"}


def source_name(tool: str) -> str:
    """Return the name that the pages give a tool, or what has its place."""
    return _OTHERS.get(tool) or display_name(tool)


def key_of(row: ConversationRow) -> str:
    """What names a conversation in an address: nothing of its path can be read from it."""
    text = "\0".join(row.identity).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


class ConversationLookup:
    """One look at everything serves the requests of the next moment, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[ConversationRow] = []
        self._by_key: dict[str, ConversationRow] = {}
        self._looked = float("-inf")

    def rows(self) -> list[ConversationRow]:
        """The latest first."""
        with self._lock:
            if time.monotonic() > self._looked + FRESH:
                self._look()
            return self._rows

    def row(self, key: str) -> ConversationRow:
        """The conversation with this key; SessionNotFoundError if there is none any more."""
        self.rows()
        with self._lock:
            found = self._by_key.get(key)
        if found is None:
            missing = SessionNotFoundError(key)
            missing.hint = "it was deleted, or moved to another folder: search for its title"
            raise missing
        return found

    def _look(self) -> None:
        conversations = ConversationList(paths.workspace_root(), everywhere=True)
        self._rows = conversations.list(capture=True).rows
        self._by_key = {key_of(row): row for row in self._rows}
        self._looked = time.monotonic()
