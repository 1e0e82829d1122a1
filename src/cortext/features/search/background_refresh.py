"""Reading what is new, in a thread of its own: a client that asks does not wait for all of it."""

from __future__ import annotations

import logging
import sqlite3
import threading

from cortext import paths
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.search import Search

_log = logging.getLogger("cortext.features")
_STEP = 1.0
"""Seconds after which it is said how many transcripts nobody looked at yet."""
_END = 5.0


class _EndedError(Exception):
    """The server ends, and whoever reads has to."""


class Warming:
    """At most one reading at a time. `unlisted` are the transcripts that nobody looked at yet,
    `unread` the conversations whose words are not in the index yet; both count down."""

    def __init__(self) -> None:
        self.unlisted: int = 0
        self.unread: int = 0
        self.done: int = 0
        self.total: int = 0
        self._thread: threading.Thread | None = None
        self._ended = False

    @property
    def goes_on(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def left(self) -> int:
        """How many conversations are not read yet, as far as one knows; 0 when all are."""
        return max(self.unlisted + self.unread, int(self.goes_on))

    def start(self) -> None:
        """Begin to read, unless that goes on already."""
        if self.goes_on or self._ended:
            return
        self.done = self.total = 0
        self._thread = threading.Thread(target=self._run, name="cortext-reads", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Let it stop after the conversation that it is at. What it read is kept."""
        self._ended = True
        if self._thread is not None:
            self._thread.join(_END)

    def _run(self) -> None:
        try:
            self._list()
            # Something is left where another process reads it now, or the index cannot be written.
            self.unread = Search().refresh(patience=None, progress=self._told).left
        except _EndedError:
            return
        except (CortextError, OSError, sqlite3.Error) as error:
            # Whoever asks next meets it too, and is told.
            _log.warning("could not read what is new: %s", error)

    def _list(self) -> None:
        """Look at every transcript, so that each is listed."""
        conversations = ConversationList(paths.workspace_root(), everywhere=True)
        before = -1
        while self.unlisted != before:
            before = self.unlisted
            conversations.list(patience=_STEP)
            self.unlisted = conversations.left
            if self._ended:
                raise _EndedError
            if not self.unlisted:
                break

    def _told(self, done: int, total: int) -> None:
        if self._ended:
            raise _EndedError
        self.done, self.total, self.unread = done, total, total - done
