"""Index new messages in a background thread, so that a client does not have to wait."""

from __future__ import annotations

import logging
import sqlite3
import threading

from cortext import paths
from cortext.errors import CortextError
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.search import Search

_log = logging.getLogger("cortext.features")
_STEP_SECONDS = 1.0
"""Seconds of work after which the thread updates `unlisted` and checks whether it must end."""
_END_SECONDS = 5.0


class _EndedError(Exception):
    """Raised in the background thread when it must end, because the server is shutting down."""


class BackgroundRefresh:
    """A background refresh of the catalog and the full-text index, at most one at a time.

    The catalog is the database of all conversations. `unlisted` is the number of transcripts that
    are not in the catalog yet. `unread` is the number of conversations that are not in the index
    yet. Both numbers decrease during a refresh. `done` of `total` conversations are finished in
    this refresh.
    """

    def __init__(self) -> None:
        self.unlisted: int = 0
        self.unread: int = 0
        self.done: int = 0
        self.total: int = 0
        self._thread: threading.Thread | None = None
        self._ended = False

    @property
    def goes_on(self) -> bool:
        """True if the background thread is running."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def left(self) -> int:
        """The number of conversations still to read; at least 1 while the refresh runs."""
        return max(self.unlisted + self.unread, int(self.goes_on))

    def start(self) -> None:
        """Start the refresh, unless it is running or `end` was called."""
        if self.goes_on or self._ended:
            return
        self.done = self.total = 0
        self._thread = threading.Thread(target=self._run, name="cortext-reads", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the refresh after the current conversation, and wait up to 5 seconds for its end.

        The conversations that were read so far stay in the index.
        """
        self._ended = True
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            self._update_catalog()
            # Conversations remain if another process is reading them or the index is read-only.
            self.unread = Search().refresh(patience=None, progress=self._report_progress).left
        except _EndedError:
            return
        except (CortextError, OSError, sqlite3.Error) as error:
            # The next search gets the same error and reports it.
            _log.warning("could not index new messages: %s", error)

    def _update_catalog(self) -> None:
        """Read all transcripts that are not in the catalog yet.

        Update `unlisted` every second, and raise _EndedError if `end` was called.
        """
        conversations = ConversationList(paths.workspace_root(), everywhere=True)
        before = -1
        while self.unlisted != before:
            before = self.unlisted
            conversations.list(patience=_STEP_SECONDS)
            self.unlisted = conversations.left
            if self._ended:
                raise _EndedError
            if not self.unlisted:
                break

    def _report_progress(self, done: int, total: int) -> None:
        if self._ended:
            raise _EndedError
        self.done, self.total, self.unread = done, total, total - done
