"""The session store in memory, for tests and for programs that need nothing on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import msgspec

from cortext.errors import SessionNotFoundError
from cortext.model.ids import check_id
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_head_codec import check_head
from cortext.stores.port import Reading, SessionStore
from cortext.stores.save_merge import KnownRecords, add_records


class MemoryStore(SessionStore):
    """A session store in memory. The sessions are gone when the process ends.

    Sessions are copied when they are stored and when they are loaded.
    """

    def __init__(self, *, on_change: Callable[[str], None] | None = None) -> None:
        self._sessions: dict[str, Session] = {}
        self.on_change = on_change
        self._lock = threading.RLock()
        self._known = KnownRecords()

    def save(self, session: Session) -> None:
        check_id(session.id)
        check_head(session)
        with self._lock:
            stored = self._sessions.get(session.id)
            if stored is not None:
                self._known.add_others_records(session, stored)
            self._sessions[session.id] = _copy(session)
            self._known.note(session)
        self._notify(session.id)

    def checkpoint(self, session: Session) -> None:
        with self._lock:
            stored = self._get(session.id)
            check_head(session)
            head = _copy(session)
            head.messages, head.tool_history = stored.messages, stored.tool_history
            known = {call.id for call in stored.tool_history}
            head.tool_history += [call for call in session.tool_history if call.id not in known]
            self._sessions[session.id] = head
        self._notify(session.id)

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        with self._lock:
            stored = self._get(id)
            new = add_records(stored, messages, tool_invocations)
        self._notify(id)
        return new

    def load(self, id: str) -> Session:
        with self._lock:
            session = _copy(self._get(id))
            self._known.note(session)
            return session

    def read(self, id: str) -> Reading:
        return Reading(self.load(id), [])

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        with self._lock:
            messages = self._get(id).messages
            return messages[-count:] if count > 0 else []

    def exists(self, id: str) -> bool:
        return check_id(id) in self._sessions

    def delete(self, id: str) -> bool:
        with self._lock:
            existed = self._sessions.pop(check_id(id), None) is not None
        if existed:
            self._notify(id)
        return existed

    def list_session_ids(self) -> list[str]:
        return sorted(self._sessions)

    def close(self) -> None:
        """Do nothing: a store in memory has no open files."""

    def _get(self, id: str) -> Session:
        session = self._sessions.get(check_id(id))
        if session is None:
            raise SessionNotFoundError(id)
        return session

    def _notify(self, id: str) -> None:
        if self.on_change is not None:
            self.on_change(id)


def _copy(session: Session) -> Session:
    return msgspec.structs.replace(
        session,
        messages=list(session.messages),
        tool_history=list(session.tool_history),
        tags=list(session.tags),
        tools=list(session.tools),
    )
