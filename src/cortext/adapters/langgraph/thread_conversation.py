"""The conversation of a LangGraph thread: each message of its checkpoints once, in order.

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
from cortext.stores.servers.server_base import ServedStore


class Transcript:
    """The conversation of one thread, with the ids of the messages that it already contains.

    Hold the lock of the thread's log while calling the methods.
    """

    def __init__(self, kept: SessionLog, id: str, thread_id: str) -> None:
        self._kept, self._id, self._thread_id = kept, id, thread_id
        self._follower = Follower(kept.store, id)
        self._told: dict[str, str] = {}
        self._others: list[SessionMessage] = []
        self._calls: set[str] = set()
        self._begun = False
        self._waits = ""

    def begin(self, owner: str) -> None:
        """Create the conversation if it does not exist.

        Raises SessionOwnerError if the conversation has another owner.
        """
        if not self._begun:
            self._kept.append(self._id, [], lambda: self._new(owner), owner=owner)
            self._waits = self._waiting()
            self._begun = True

    def tell(self, messages: Sequence[Any], known: int, owner: str) -> None:
        """Append the messages that the conversation does not contain yet.

        `messages` are the messages of a checkpoint. The first `known` of them have not changed
        since the checkpoint before, so they are only looked up by their id.
        """
        self.begin(owner)
        self.catch_up()
        new: list[SessionMessage] = []
        nameless: Counter[str] = Counter()
        for at, value in enumerate(messages):
            if at < known and getattr(value, "id", None) in self._told:
                continue
            message = as_message(value)
            if message is None or is_ours(message):
                continue
            record = to_record(message)
            if not message.id:
                # Equal messages without ids would get the same id. The count makes it unique.
                nameless[record.id] += 1
                record = with_id(record, derived_id(record.id, str(nameless[record.id])))
            record = self._untold(record)
            if record is not None:
                new.append(record)
                self._told[record.id] = mark_of(record)
        if new:
            self._kept.append(self._id, new, lambda: self._new(owner), owner=owner)

    def remove(self, ids: set[str | None]) -> None:
        """Delete the messages with these LangChain ids from the conversation permanently."""
        if ids and self._kept.store.exists(self._id):
            self._kept.change(self._id, lambda session: _without(session, ids))

    def all(self) -> list[SessionMessage]:
        found = self._kept.read(self._id)
        return found.messages if found else []

    def others(self) -> list[SessionMessage]:
        """Return the messages that other programs added to the conversation, as records."""
        self.catch_up()
        return self._others

    def wait_for(self, interrupts: list[dict[str, Any]], at: str, owner: str) -> None:
        """Record in the conversation that a run waits for a user.

        `at` is the id of the checkpoint at which the run waits. `interrupts` say what it waits for.
        """
        self.begin(owner)
        self._waits = at
        pending = {"framework": FRAMEWORK, "checkpoint_id": at, "interrupts": interrupts}
        self._amend(pending)

    def go_on(self, at: str) -> None:
        """Clear the note of `wait_for` if the checkpoint `at` is later than the one that waits.

        Writes may arrive out of order, so the same checkpoint does not end the wait.
        """
        if not isinstance(self._kept.store, LogStore):
            self._waits = self._waiting()
        if self._waits and at > self._waits:
            self._waits = ""
            self._amend(None)

    def catch_up(self) -> None:
        """Read the messages that were added to the conversation since the last call.

        A store that cannot be read incrementally is read only once. Its `append` skips messages
        that are stored already.
        """
        if self._told and not isinstance(self._kept.store, (LogStore, ServedStore)):
            return
        anew, records = self._follower.new()
        if anew:
            self._told.clear()
            self._others = []
            self._calls.clear()
            # A change of the head also rewrites the file, so read the head again.
            self._waits = self._waiting()
        for record in records:
            self._told[record.id] = mark_of(record)
            if FRAMEWORK in record.extra:
                self._calls.update(str(call.get("id")) for call in record.tool_calls or ())
            # Ignore results that `cortext doctor` added for interrupted calls: the thread can still
            # run them.
            elif record.tool_call_id not in self._calls:
                self._others.append(record)

    def _untold(self, record: SessionMessage) -> SessionMessage | None:
        """Return the record to append, or None if the conversation already contains the record.

        If the content of a stored message has changed, the new record gets another id.
        """
        told = self._told.get(record.id)
        if told is None:
            return record
        mark = mark_of(record)
        again = f"{record.id}.{mark}"
        if told == mark or again in self._told:
            return None
        if any(one.id == record.id for one in self._others):
            return None
        return with_id(record, again)

    def _new(self, owner: str) -> Session:
        return self._kept.new_session(
            self._id, owner=owner, metadata={"thread_id": self._thread_id}
        )

    def _waiting(self) -> str:
        """Return the id of the checkpoint at which a run waits for a user, or "" if none waits."""
        try:
            head = self._kept.head(self._id)
        except SessionNotFoundError:
            return ""
        waits: Any = head.pending
        if not isinstance(waits, dict):
            return ""
        return str(cast("dict[str, Any]", waits).get("checkpoint_id", ""))

    def _amend(self, pending: Any) -> None:
        try:
            self._kept.amend(self._id, pending=pending)
        except SessionNotFoundError:
            # The conversation was deleted, so there is no head to change.
            self._begun = False


def _without(session: Session, ids: set[str | None]) -> None:
    session.messages = [
        one for one in session.messages if one.extra.get(FRAMEWORK, {}).get("id") not in ids
    ]
