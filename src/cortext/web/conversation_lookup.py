"""Lookup of this machine's conversations for the web pages, by the key in a URL."""

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
"""Seconds for which the result of a scan of all files is used again."""
_OTHERS = {AUR: "spawn", DOCUMENT: "programs"}


def source_name(tool: str) -> str:
    """Return the display name of a tool for the web pages.

    Sessions of `cortext spawn` and of other programs also have a `tool`, with names of their own.
    """
    return _OTHERS.get(tool) or display_name(tool)


def key_of(row: ConversationRow) -> str:
    """Return the key that identifies a conversation in URLs. The key does not reveal its path."""
    text = "\0".join(row.identity).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


class ConversationLookup:
    """The rows of all conversations of this machine. Thread-safe.

    Requests within `FRESH` seconds share one scan of the files.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[ConversationRow] = []
        self._by_key: dict[str, ConversationRow] = {}
        self._looked = float("-inf")

    def rows(self) -> list[ConversationRow]:
        """Return the rows of all conversations, the most recently active first."""
        with self._lock:
            if time.monotonic() > self._looked + FRESH:
                self._look()
            return self._rows

    def row(self, key: str) -> ConversationRow:
        """Return the row of the conversation with this key.

        Raise SessionNotFoundError if the conversation no longer exists.
        """
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
