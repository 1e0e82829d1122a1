"""A cache of the conversations that web pages opened last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakValueDictionary

from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.stores.workspace_layout import document_in
from cortext.web.open_conversation import OpenConversation

_CACHE_SIZE = 4
"""The number of cached conversations. Conversations that a page follows do not count."""


class OpenConversationCache:
    """A cache of the conversations that web pages show. Several threads may use one cache."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: WeakValueDictionary[tuple[str, str], OpenConversation] = WeakValueDictionary()
        self._recent: OrderedDict[tuple[str, str], OpenConversation] = OrderedDict()

    def open(self, row: ConversationRow) -> OpenConversation:
        """Return the conversation of a row, with its newest messages. Use the cache if possible.

        SessionNotFoundError is raised if the conversation does not exist.
        """
        with self._lock:
            opened = self._open.get(row.identity)
        if opened is None or (row.status and not opened.has_session):
            # Read without the lock, so that a long conversation does not delay others.
            made = OpenConversation(row)
            with self._lock:
                other = self._open.get(row.identity)
                opened = made if other is opened or other is None else other
                self._open[row.identity] = opened
        else:
            opened.look(row)
        self._remember(opened)
        return opened

    def _remember(self, opened: OpenConversation) -> None:
        with self._lock:
            self._recent[opened.row.identity] = opened
            self._recent.move_to_end(opened.row.identity)
            while len(self._recent) > _CACHE_SIZE:
                self._recent.popitem(last=False)


def document_of(row: ConversationRow) -> str:
    """Return the text of the markdown document of a workspace conversation.

    Return "" if there is no document, or if it cannot be read.
    """
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    try:
        return read_file(f"{row.place.folder}/{name}").decode("utf-8", "replace")
    except OSError:
        return ""
