"""Conversations that were opened just now."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakValueDictionary

from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.stores.workspace_layout import document_in
from cortext.web.open_conversation import OpenConversation

_MOST = 4
"""Conversations that are kept in memory, beside those that a page follows."""


class Desk:
    """Opens conversations, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: WeakValueDictionary[tuple[str, str], OpenConversation] = WeakValueDictionary()
        self._kept: OrderedDict[tuple[str, str], OpenConversation] = OrderedDict()

    def open(self, row: ConversationRow) -> OpenConversation:
        """The conversation as it is now; SessionNotFoundError if there is none."""
        with self._lock:
            found = self._open.get(row.identity)
        if found is None or (row.status and not found.has_session):
            # Others are served while a long one is read.
            made = OpenConversation(row)
            with self._lock:
                other = self._open.get(row.identity)
                found = made if other is found or other is None else other
                self._open[row.identity] = found
        else:
            found.look(row)
        self._keep(found)
        return found

    def _keep(self, opened: OpenConversation) -> None:
        with self._lock:
            self._kept[opened.row.identity] = opened
            self._kept.move_to_end(opened.row.identity)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)


def document_of(row: ConversationRow) -> str:
    """The markdown of a conversation of a workspace; "" if it has none."""
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    try:
        return read_file(f"{row.place.folder}/{name}").decode("utf-8", "replace")
    except OSError:
        return ""
