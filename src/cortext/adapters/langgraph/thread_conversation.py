"""The conversation of a LangGraph thread, which contains each message of its checkpoints once.

The conversation is a cortext session, separate from the log of checkpoints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from cortext.adapters.langgraph.langchain_messages import (
    FRAMEWORK,
    as_message,
    is_ours,
    mark_of,
    to_record,
    with_id,
)
from cortext.adapters.langgraph.thread_log import Follower
from cortext.adapters.session_log import SessionLog
from cortext.errors import SessionNotFoundError
from cortext.model.ids import derived_id
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from cortext.stores.servers.server_store_base import ServedStore


class Transcript:
    """The conversation of one thread. The object remembers which messages are stored already.

    Hold the lock of the thread's log while calling the methods.
    """

    def __init__(self, session_log: SessionLog, id: str, thread_id: str) -> None:
        self._session_log, self._id, self._thread_id = session_log, id, thread_id
        self._follower = Follower(session_log.store, id)
        self._fingerprints: dict[str, str] = {}
        self._others: list[SessionMessage] = []
        self._calls: set[str] = set()
        self._is_created = False
        self._waiting_at = ""

    def begin(self, owner: str) -> None:
        """Create the conversation if it does not exist.

        Raises SessionOwnerError if the conversation has another owner.
        """
        if not self._is_created:
            self._session_log.append(self._id, [], lambda: self._new_session(owner), owner=owner)
            self._waiting_at = self._read_waiting()
            self._is_created = True

    def tell(self, messages: Sequence[Any], known: int, owner: str) -> None:
        """Append the messages that the conversation does not contain yet.

        `messages` are the messages of a checkpoint. The first `known` messages are the same as in
        the previous checkpoint, so they are only looked up by their id. `owner` becomes the owner
        of a new conversation.
        """
        self.begin(owner)
        self.catch_up()
        new: list[SessionMessage] = []
        without_id: Counter[str] = Counter()
        for at, value in enumerate(messages):
            if at < known and getattr(value, "id", None) in self._fingerprints:
                continue
            message = as_message(value)
            if message is None or is_ours(message):
                continue
            record = to_record(message)
            if not message.id:
                # Equal messages without ids would get the same id, so add a number to the id.
                without_id[record.id] += 1
                record = with_id(record, derived_id(record.id, str(without_id[record.id])))
            record = self._new_record(record)
            if record is not None:
                new.append(record)
                self._fingerprints[record.id] = mark_of(record)
        if new:
            self._session_log.append(self._id, new, lambda: self._new_session(owner), owner=owner)

    def remove(self, ids: set[str | None]) -> None:
        """Delete the messages with these LangChain ids from the conversation permanently."""
        if ids and self._session_log.store.exists(self._id):
            self._session_log.change(self._id, lambda session: _remove_messages(session, ids))

    def all(self) -> list[SessionMessage]:
        session = self._session_log.read(self._id)
        return session.messages if session else []

    def others(self) -> list[SessionMessage]:
        """Return the messages that other programs added to the conversation, as records."""
        self.catch_up()
        return self._others

    def wait_for(self, interrupts: list[dict[str, Any]], at: str, owner: str) -> None:
        """Record in the conversation that a run waits for a user.

        `at` is the id of the checkpoint at which the run waits. `interrupts` are the interrupts
        for which the run waits.
        """
        self.begin(owner)
        self._waiting_at = at
        pending = {"framework": FRAMEWORK, "checkpoint_id": at, "interrupts": interrupts}
        self._amend(pending)

    def go_on(self, at: str) -> None:
        """Record that the run no longer waits for a user, because it has a later checkpoint.

        `at` is the id of the later checkpoint. LangGraph may store an interrupt before or after its
        checkpoint. Therefore do nothing if `at` is not later than the checkpoint at which the run
        waits.
        """
        if not isinstance(self._session_log.store, LogStore):
            self._waiting_at = self._read_waiting()
        if self._waiting_at and at > self._waiting_at:
            self._waiting_at = ""
            self._amend(None)

    def catch_up(self) -> None:
        """Read the messages that were added to the conversation since the last call.

        Some stores can only be read completely. Such a store is read only once. This is enough,
        because its `append` skips messages that are stored already.
        """
        if self._fingerprints and not isinstance(self._session_log.store, (LogStore, ServedStore)):
            return
        is_reset, records = self._follower.new()
        if is_reset:
            self._fingerprints.clear()
            self._others = []
            self._calls.clear()
            # The file may have been rewritten because its head changed, so read the head again.
            self._waiting_at = self._read_waiting()
        for record in records:
            self._fingerprints[record.id] = mark_of(record)
            if FRAMEWORK in record.extra:
                self._calls.update(str(call.get("id")) for call in record.tool_calls or ())
            # `cortext doctor` adds results for interrupted calls. Ignore these results, because the
            # thread can still run the calls.
            elif record.tool_call_id not in self._calls:
                self._others.append(record)

    def _new_record(self, record: SessionMessage) -> SessionMessage | None:
        """Return the record to append, or None if the conversation already contains the record.

        If another record with the same id is stored already, the new record gets another id.
        """
        stored = self._fingerprints.get(record.id)
        if stored is None:
            return record
        fingerprint = mark_of(record)
        new_id = f"{record.id}.{fingerprint}"
        if stored == fingerprint or new_id in self._fingerprints:
            return None
        if any(one.id == record.id for one in self._others):
            return None
        return with_id(record, new_id)

    def _new_session(self, owner: str) -> Session:
        return self._session_log.new_session(
            self._id, owner=owner, metadata={"thread_id": self._thread_id}
        )

    def _read_waiting(self) -> str:
        """Return the id of the checkpoint at which a run waits for a user; "" if no run waits."""
        try:
            head = self._session_log.head(self._id)
        except SessionNotFoundError:
            return ""
        pending: Any = head.pending
        if not isinstance(pending, dict):
            return ""
        return str(cast("dict[str, Any]", pending).get("checkpoint_id", ""))

    def _amend(self, pending: Any) -> None:
        try:
            self._session_log.amend(self._id, pending=pending)
        except SessionNotFoundError:
            # The conversation was deleted, so there is no head to change.
            self._is_created = False


def _remove_messages(session: Session, ids: set[str | None]) -> None:
    session.messages = [
        one for one in session.messages if one.extra.get(FRAMEWORK, {}).get("id") not in ids
    ]
