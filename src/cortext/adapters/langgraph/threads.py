"""The LangGraph threads of a store. Each thread has a log of checkpoints and a conversation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cortext.adapters.langgraph.thread_conversation import Transcript
from cortext.adapters.langgraph.thread_log import (
    SavedCheckpoint,
    Spot,
    Thread,
    Write,
    as_record,
    put_record,
    records_of,
    writes_record,
)
from cortext.adapters.session_log import SessionLog, head_of, id_of, inner_store
from cortext.errors import SessionNotFoundError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.limited_cache import LimitedCache
from cortext.stores.port import SessionStore


class OpenThread(NamedTuple):
    """A thread in memory, with its log of checkpoints and its conversation.

    `thread_id` is LangGraph's id of the thread. The log and the conversation are stored as two
    sessions in different stores. Both sessions have the id `id`.
    """

    id: str
    thread_id: str
    log: Thread
    transcript: Transcript


class Threads:
    """All LangGraph threads of a store. The methods block while they wait for the disk."""

    def __init__(self, kept: SessionLog) -> None:
        self.kept = kept
        self.logs: SessionStore = inner_store(kept.store, "checkpoints")
        self._recent: LimitedCache[OpenThread] = LimitedCache(64)
        self._lock = threading.Lock()

    def open(self, thread_id: str, owner: str = "") -> OpenThread:
        """Return the thread with this id. The thread need not be stored yet.

        Raises SessionOwnerError if the thread has another owner than `owner`. An empty `owner`
        skips this check.
        """
        self.kept.check_owner(id_of(thread_id), owner, thread_id)
        with self._lock:
            thread = self._recent.get(thread_id)
            if thread is None:
                id = id_of(thread_id)
                log = Thread(self.logs, id)
                thread = OpenThread(id, thread_id, log, Transcript(self.kept, id, thread_id))
                self._recent.put(thread_id, thread)
            return thread

    def ids(self) -> Iterator[str]:
        """Yield the ids of all threads that have checkpoints."""
        for id in self.logs.list_session_ids():
            try:
                yield str(head_of(self.logs, id).metadata.get("thread_id", id))
            except SessionNotFoundError:
                continue

    def heads(self, owner: str | None) -> Iterator[Session]:
        """Return the conversations of all threads without their messages.

        The most recently created conversation comes first. With `owner`, return only the
        conversations of this owner. A conversation that another framework began is included if it
        has checkpoints.
        """
        return self.kept.begun(owner, set(self.logs.list_session_ids()))

    def append(self, thread: OpenThread, records: Sequence[SessionMessage]) -> None:
        """Append records to the log of a thread durably. The log is created if needed."""
        try:
            self.logs.append(thread.id, *records)
        except SessionNotFoundError:
            with self._lock:
                if not self.logs.exists(thread.id):
                    self.logs.save(self._new_log(thread))
            self.logs.append(thread.id, *records)

    def put(self, thread: OpenThread, ns: str, drafts: Sequence[SavedCheckpoint]) -> None:
        """Append the checkpoints `drafts` durably to the namespace `ns` of a thread.

        Each checkpoint is the parent of the next. A value that the log already contains is stored
        as a reference. If another process has removed such a value in the meantime, the checkpoints
        are written again in full.
        """
        log = thread.log
        with log.lock:
            base = log.saved(ns, drafts[0].parent) if drafts[0].parent else None
            records: list[SessionMessage] = []
            for draft in drafts:
                records.append(as_record(put_record(ns, draft, base, log.pieces)))
                base = draft
        self.append(thread, records)
        with log.lock:
            log.catch_up()
            stored = log.checkpoints.get(ns, {})
            lost = any(draft.id not in stored for draft in drafts)
        if lost:
            self.append(thread, [as_record(put_record(ns, one, None, {})) for one in drafts])
            with log.lock:
                log.catch_up()

    def write(self, thread: OpenThread, ns: str, at: str, writes: list[Write]) -> None:
        """Append the writes of a task durably. A write is a value that a task wrote to a channel.

        The writes belong to the checkpoint with the id `at` in the namespace `ns`. A value that the
        log already contains is stored as a reference. If another process has removed such a value
        in the meantime, the writes are written again in full.
        """
        log = thread.log
        with log.lock:
            record = as_record(writes_record(ns, at, writes, log.pieces))
        self.append(thread, [record])
        with log.lock:
            log.catch_up()
            stored = log.writes.get((ns, at), {})
            lost = any((one.task, one.number) not in stored for one in writes)
        if lost:
            self.append(thread, [as_record(writes_record(ns, at, writes, {}))])
            with log.lock:
                log.catch_up()

    def rewrite(self, thread_id: str, chosen: Callable[[Thread], set[Spot]]) -> Thread | None:
        """Delete checkpoints of a thread permanently.

        `chosen` is called with the log of the thread, and returns the positions of the checkpoints
        to keep. Returns the log before the deletion, or None if nothing was deleted. Checkpoints
        that others add in the meantime are not lost.
        """
        thread = self.open(thread_id)
        try:
            session = self.logs.read(thread.id).session
        except SessionNotFoundError:
            return None
        before = Thread(self.logs, thread.id)
        before.take(session.messages)
        keep = chosen(before)
        if len(keep) == len(before.spots()):
            return None
        session.messages = list(records_of(before, keep))
        self.logs.save(session)
        with thread.log.lock:
            thread.log.forget()
        return before

    def copy(self, source_id: str, target_id: str) -> None:
        """Copy all checkpoints of a thread and its conversation to another thread."""
        source, target = self.open(source_id), self.open(target_id)
        with source.log.lock:
            source.log.catch_up()
            records = list(records_of(source.log, source.log.spots()))
        if records:
            self.append(target, records)
        conversation = self.kept.read(source.id)
        if conversation is not None:
            new = self.kept.new_session(
                target.id,
                owner=conversation.owner,
                parent_id=source.id,
                metadata={"thread_id": target_id},
            )
            self.kept.append(target.id, conversation.messages, lambda: new)

    def delete(self, thread_id: str) -> None:
        """Delete the checkpoints and the conversation of a thread permanently.

        The conversation is deleted first. If the process dies after that, the checkpoints are still
        a valid thread, which can be deleted again.
        """
        thread = self.open(thread_id)
        self.kept.delete(thread.id)
        self.logs.delete(thread.id)
        with self._lock:
            self._recent.pop(thread_id)

    def close(self) -> None:
        self.logs.close()
        self.kept.close()

    def _new_log(self, thread: OpenThread) -> Session:
        metadata = {"framework": self.kept.framework, "thread_id": thread.thread_id}
        return Session(thread.id, kind="checkpoints", metadata=metadata)
