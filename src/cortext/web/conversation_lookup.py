"""Find a conversation of this machine by the key in the URL of a web page."""

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
"""Seconds for which the result of a scan is reused. A scan reads the list of all files."""
_OTHER_SOURCES = {AUR: "spawn", DOCUMENT: "programs"}


def source_name(tool: str) -> str:
    """Return the display name of the program that a conversation comes from.

    `tool` is the name of an AI tool, `AUR` for sessions of `cortext spawn`, or `DOCUMENT` for
    sessions of other programs.
    """
    return _OTHER_SOURCES.get(tool) or display_name(tool)


def key_of(row: ConversationRow) -> str:
    """Return the key that identifies a conversation in URLs.

    The key is a hash, because the path of the conversation must not appear in a URL.
    """
    text = "\0".join(row.identity).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


class ConversationLookup:
    """The rows (list entries) of all conversations of this machine.

    Requests within `FRESH` seconds share one scan of the files. Several threads may use one object.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[ConversationRow] = []
        self._by_key: dict[str, ConversationRow] = {}
        self._scanned_at = float("-inf")

    def rows(self) -> list[ConversationRow]:
        """Return the rows of all conversations, the most recently active first."""
        with self._lock:
            if time.monotonic() > self._scanned_at + FRESH:
                self._scan()
            return self._rows

    def row(self, key: str) -> ConversationRow:
        """Return the row of the conversation with this key.

        SessionNotFoundError is raised if the conversation no longer exists.
        """
        self.rows()
        with self._lock:
            found = self._by_key.get(key)
        if found is None:
            missing = SessionNotFoundError(key)
            missing.hint = "it was deleted or moved to another folder; search for its title"
            raise missing
        return found

    def _scan(self) -> None:
        conversations = ConversationList(paths.workspace_root(), everywhere=True)
        self._rows = conversations.list(capture=True).rows
        self._by_key = {key_of(row): row for row in self._rows}
        self._scanned_at = time.monotonic()
