"""The `ConversationStore` for pydantic-ai, which stores conversations in a cortext store."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from cortext.adapters.missing_framework import needs
from cortext.adapters.pydantic_ai.entry_log import EntryLog, OpenEntryLog, saved_in
from cortext.adapters.pydantic_ai.pydantic_messages import KEY
from cortext.adapters.session_log import PathOrUrl, SessionLog, beside, id_of, log, name_of_session
from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title

with needs("pydantic-ai"):
    from pydantic import TypeAdapter
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import DeferredToolRequests

__all__ = ["CortextConversationStore", "OwnerConflict"]
_REQUESTS: TypeAdapter[DeferredToolRequests] = TypeAdapter(DeferredToolRequests)
_MOST_OPEN = 64


class OwnerConflict(ConversationConflict):
    """The error when a conversation is saved under the wrong scope (owner). Nothing was written.

    The error text does not reveal the right scope.
    """

    def __init__(self, conversation_id: str, *, is_owned: bool) -> None:
        super().__init__(conversation_id)
        self.message: str = (
            f"session {conversation_id} belongs to another owner"
            if is_owned
            else f"session {conversation_id} has no owner: load and save it without a scope"
        )
        self.args: tuple[Any, ...] = (self.message,)


class CortextConversationStore(ConversationStore):
    """A conversation store for pydantic-ai that stores conversations with cortext.

    `path_or_url` is the path or URL of the cortext store; None means the default folder.

    A conversation is durable when `save` returns. If two processes save at once, one of them gets
    `ConversationConflict` and has written nothing. The scope is the owner of a conversation. A
    caller with another scope does not find the conversation, and gets OwnerConflict when saving it.
    A fork is a copy, so `delete` removes only the messages of one conversation. A conversation that
    another program began can be loaded by its id. Messages that the other program adds later are
    loaded too.
    """

    def __init__(self, path_or_url: PathOrUrl = None) -> None:
        self._session_log = SessionLog(path_or_url, KEY)
        self._recent: dict[str, OpenEntryLog] = {}
        self._recent_lock = threading.Lock()

    async def load(
        self, conversation_id: str, *, limit: int | None = None, scope: str | None = None
    ) -> Conversation | None:
        """Return a conversation, or None if there is no such conversation in this scope.

        If the last response has tool calls that were interrupted, the response is marked as
        interrupted. The framework then accepts a new prompt and informs the model about the calls.
        """
        loaded = await super().load(conversation_id, limit=limit, scope=scope)
        if loaded is not None and loaded.messages and loaded.deferred_tool_requests is None:
            last = loaded.messages[-1]
            if isinstance(last, ModelResponse) and last.state == "complete" and last.tool_calls:
                # The change is not stored, so a later save finds the stored message unchanged.
                last.state = "interrupted"
        return loaded

    async def save(
        self, conversation: Conversation | AgentRunResult[Any], *, scope: str | None = None
    ) -> list[ConversationEntry]:
        """Save the new messages of a conversation, and return them as entries.

        Raises OwnerConflict if the conversation has another scope. Raises ConversationConflict if
        somebody else has saved the conversation since it was loaded.
        """
        inner = getattr(conversation, "conversation", conversation)
        id = cast("Conversation", inner).conversation_id
        record = None if scope is None else await self.read_record(id)
        if record is not None and record.scope != scope:
            raise OwnerConflict(id, is_owned=record.scope is not None)
        return await super().save(conversation, scope=scope)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await beside(self._record, conversation_id)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return at most `limit` conversation records, the most recently updated first.

        With `scope`, return only the conversations of this scope. Conversations that another
        framework began are included, because they can be loaded.
        """
        return await beside(self._records, scope, limit)

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        await beside(self._write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation permanently, with its messages and branches.

        Raises ConversationConflict if its revision is not `expected_revision`.
        """
        await beside(self._delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return await beside(self._entry, entry_id)

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        return [] if head_id is None else await beside(self._history, head_id, limit)

    def close(self) -> None:
        """Close the open files. The store can be used again afterwards."""
        self._session_log.close()

    @contextmanager
    def _open(self, id: str) -> Generator[EntryLog]:
        with self._recent_lock:
            found = self._recent.pop(id, None) or OpenEntryLog(self._session_log.store, id)
            self._recent[id] = found
            if len(self._recent) > _MOST_OPEN:
                del self._recent[next(iter(self._recent))]
        with found.lock:
            yield found.now()

    def _record(self, conversation_id: str) -> ConversationRecord | None:
        id = id_of(conversation_id)
        with self._open(id) as found:
            begun_elsewhere = found.head is not None and not found.is_saved
            owner = self._session_log.head(id).owner if begun_elsewhere else ""
            return found.record(conversation_id, owner or None)

    def _records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        records: list[ConversationRecord] = []
        for head, last in self._session_log.latest(scope):
            record = saved_in(last[0]) if last else None
            if record is None:
                record = self._record(name_of_session(head))
            if record is not None and (scope is None or record.scope == scope):
                records.append(record)
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    def _write(
        self,
        record: ConversationRecord,
        new_entries: Sequence[ConversationEntry],
        expected_revision: str | None,
    ) -> None:
        id = id_of(record.conversation_id)
        with self._session_log.alone(id):
            before = self._record(record.conversation_id)
            if (before.revision if before else None) != expected_revision:
                raise ConversationConflict(record.conversation_id)
            entries = [*self._entries_to_copy(id, record, new_entries), *new_entries]
            with self._open(id) as found:
                records = found.records_to_save(record, entries)
            self._session_log.append(id, records, lambda: self._new_session(id, record, records))
            self._update_head(id, record)

    def _entries_to_copy(
        self, id: str, record: ConversationRecord, new_entries: Sequence[ConversationEntry]
    ) -> list[ConversationEntry]:
        """Return the entries that a new fork must copy from its source conversation.

        `id` is the session id of the fork. The list is empty if the conversation is not a fork, or
        has the entries already.
        """
        first = new_entries[0].parent_id if new_entries else record.head_id
        with self._open(id) as found:
            if first is None or first in found:
                return []
        try:
            return self._history(first, None, record.forked_from)
        except LookupError:
            raise ConversationConflict(record.conversation_id) from None

    def _new_session(
        self, id: str, record: ConversationRecord, messages: list[SessionMessage]
    ) -> Session:
        session = self._session_log.new_session(
            id,
            owner=record.scope or "",
            parent_id=id_of(record.forked_from) if record.forked_from else "",
            pending=_pending(record),
            metadata={"conversation_id": record.conversation_id},
        )
        if any(message.role == "user" and message.content.strip() for message in messages):
            session.title = generate_title(Session(messages=messages), WHOLE)
        return session

    def _update_head(self, id: str, record: ConversationRecord) -> None:
        """Update what lists show about a session: its owner, and the tool calls that wait."""
        head = self._session_log.head(id)
        fields = {"pending": _pending(record), "owner": record.scope or ""}
        changed = {name: value for name, value in fields.items() if getattr(head, name) != value}
        if not changed:
            return
        self._session_log.amend(id, **changed)

    def _delete(self, conversation_id: str, expected_revision: str) -> None:
        id = id_of(conversation_id)
        with self._session_log.alone(id):
            record = self._record(conversation_id)
            if record is None or record.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            self._session_log.delete(id)
            with self._recent_lock:
                self._recent.pop(id, None)

    def _entry(self, entry_id: str) -> ConversationEntry:
        with self._open(self._find_session(entry_id)) as found:
            return found.entry(entry_id)

    def _history(
        self, head_id: str, limit: int | None, conversation_id: str | None = None
    ) -> list[ConversationEntry]:
        with self._open(self._find_session(head_id, conversation_id)) as found:
            return found.history(head_id, limit)

    def _find_session(self, entry_id: str, conversation_id: str | None = None) -> str:
        """Return the id of the session that contains an entry.

        The session of `conversation_id` is searched first. Raises KeyError if no session contains
        the entry.
        """
        for id in self._candidates(conversation_id):
            try:
                with self._open(id) as found:
                    if entry_id in found:
                        return id
            except CortextError as error:
                log.warning("a session is skipped: %s", error)
        raise KeyError(entry_id)

    def _candidates(self, conversation_id: str | None) -> Iterator[str]:
        """Yield all session ids, in the order in which to search them for an entry.

        The session of `conversation_id` comes first, then recently used sessions, then all others.
        """
        if conversation_id is not None:
            yield id_of(conversation_id)
        with self._recent_lock:
            recent = list(self._recent)
        yield from reversed(recent)
        yield from (id for id in self._session_log.store.list_session_ids() if id not in recent)


def _pending(record: ConversationRecord) -> dict[str, Any] | None:
    waiting = record.deferred_tool_requests
    if waiting is None:
        return None
    return {
        "framework": KEY,
        "deferred_tool_requests": json_codec.decode(_REQUESTS.dump_json(waiting)),
    }
