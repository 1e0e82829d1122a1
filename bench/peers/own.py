"""Our session stores in files, as a program uses them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .base import Message, Peer, clean_room

if TYPE_CHECKING:
    from cortext.stores.port import SessionStore


class Log(Peer):
    """A log for each session, where programs keep theirs by default: `cortext list` has them."""

    name = "cortext log"
    distribution = "cortext-sessions"
    imports = "from cortext import open_session_store, SessionMessage"
    syncs = True  # 20 fdatasync for 20 appends
    ours = True
    venv = ""
    chunk = 100_000

    def open(self, folder: str) -> None:
        clean_room(folder)
        from cortext import Session, SessionMessage

        os.chdir(folder)
        self._session, self._message = Session, SessionMessage
        self._store: SessionStore = self._open(folder)
        self._known: set[str] = set()

    def _open(self, folder: str) -> SessionStore:
        from cortext import open_session_store, paths

        return open_session_store(f"log:{paths.program_sessions()}")

    def append(self, session_id: str, role: Any, content: str) -> None:
        self._begin(session_id)
        self._store.append(session_id, self._message(role, content))

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        self._begin(session_id)
        made: list[Any] = [self._message(role, content) for role, content in messages]  # type: ignore[arg-type]
        self._store.append(session_id, *made)

    def _begin(self, session_id: str) -> None:
        if session_id not in self._known:
            if not self._store.exists(session_id):
                self._store.save(self._session(session_id, title=session_id))
            self._known.add(session_id)

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        return self._store.tail(session_id, n)

    def load(self, session_id: str) -> Sequence[Any]:
        return self._store.load(session_id).messages

    def newest(self, n: int) -> Sequence[Any] | None:
        from cortext import paths
        from cortext.features.listing.conversation_list import ConversationList

        root = paths.personal_workspace()
        return ConversationList(root, everywhere=True).list(patience=None).rows[:n]

    def find(self, words: str) -> Sequence[Any] | None:
        from cortext.features.search.search import Search

        # With a look for what is new, as everybody else's query has it.
        search = Search()
        search.refresh(patience=None)
        return search.find(words)

    def close(self) -> None:
        self._store.close()


class Folder(Log):
    """A folder for each session, in a workspace: what people read, diff and commit."""

    name = "cortext workspace folder"

    def _open(self, folder: str) -> SessionStore:
        from cortext import open_session_store, paths

        return open_session_store(f"workspace:{paths.personal_workspace()}")


class Document(Log):
    """A JSON document for each session, which `SessionManager` saves whole."""

    name = "cortext document"
    imports = "from cortext import SessionManager"

    def _open(self, folder: str) -> SessionStore:
        from cortext import SessionStorage

        return SessionStorage()

    def recovered(self, session_id: str) -> Sequence[Any]:
        # As `SessionManager.resume` does it, with a warning.
        from cortext import SessionCorruptedError, SessionStorage

        try:
            return self.load(session_id)
        except SessionCorruptedError:
            SessionStorage().recover_from_backup(session_id)
            return self.load(session_id)

    def newest(self, n: int) -> Sequence[Any] | None:
        from cortext import SessionIndex, SessionStorage

        index = SessionIndex(SessionStorage())
        found = index.list(limit=n)
        index.close()
        return found
