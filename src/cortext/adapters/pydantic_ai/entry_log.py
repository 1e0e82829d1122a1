"""The entries of a pydantic-ai conversation, read from the records of its session.

An *entry* is one message with an id and the id of its parent entry. The parent is the previous
entry in the session, unless the record names another parent. The last record of each save also
holds pydantic-ai's conversation record: usage, waiting calls, branches and revision. The revision
is a text that changes with each save. Messages of other programs are entries too, and they also
change the revision. A caller that loaded the conversation before such a message must load it again
before saving.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from cortext.adapters.missing_framework import needs
from cortext.adapters.pydantic_ai.pydantic_messages import (
    KEY,
    PART,
    call_name,
    made_of,
    message_of,
    records_of,
)
from cortext.adapters.record_reader import Follower
from cortext.adapters.session_log import log
from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.stores.port import SessionStore

with needs("pydantic-ai"):
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
    from pydantic_ai.messages import ModelMessage

_RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)
_ANOTHER_BRANCH = "What follows continues an earlier message, or another branch."


class _Entry(NamedTuple):
    parent: str | None
    stored: Any
    """The stored form of a message. If `made` is True, this is a message object instead."""
    made: bool
    """True if the message was made from a record of another program."""


class EntryLog:
    """The entries of one session, computed from the records that were passed to `take`.

    `head` is the id of the latest entry, or None. `last` is the latest record, or None.
    """

    def __init__(self) -> None:
        self.head: str | None = None
        self.last: SessionMessage | None = None
        self._entries: dict[str, _Entry] = {}
        self._names: dict[str, str] = {}
        self._last_save: dict[str, Any] | None = None
        self._is_saved = True

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._entries

    @property
    def is_saved(self) -> bool:
        """True if pydantic-ai has saved anything in this session."""
        return self._last_save is not None

    def take(self, records: Iterable[SessionMessage]) -> None:
        for record in records:
            # Remember all tool names, because `cortext doctor` may add results for these calls.
            for call in record.tool_calls or ():
                self._names[tool_call_stubs.id_of(call)] = call_name(call)
            own = _own_data(record)
            if own is None:
                self._take_other(record)
            elif PART not in own:
                self._take_own(record, own)

    def record(self, conversation_id: str, scope: str | None) -> ConversationRecord | None:
        """Return pydantic-ai's record of the conversation, or None if nothing is stored.

        If pydantic-ai has never saved this conversation, the record is new and gets the scope
        (owner) `scope`.
        """
        record = _read_record(self._last_save)
        if record is not None:
            if self._is_saved and self.head == record.head_id:
                return record
            # Waiting calls can be answered only at the end of a history.
            current = replace(record, head_id=self.head, deferred_tool_requests=None)
            current.revision = f"{record.revision}+{self.head}"
        elif self.head is not None:
            current = ConversationRecord(
                conversation_id=conversation_id,
                head_id=self.head,
                scope=scope,
                revision=self.head,
            )
        else:
            return None
        if self.last is not None:
            current.updated_at = self.last.timestamp
        return current

    def history(self, head_id: str | None, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entry `head_id` and all its ancestors (parent, its parent, ...), oldest first.

        With `limit`, return only the last `limit` entries. Raises KeyError if there is no entry
        `head_id`. Unreadable messages are logged and skipped.
        """
        entries: list[ConversationEntry] = []
        while head_id is not None and (limit is None or len(entries) < limit):
            parent = self._entries[head_id].parent
            try:
                entries.append(self.entry(head_id))
            except ValueError as error:
                # A later version of the framework wrote the message, or somebody edited it. Its
                # record stays.
                log.warning("message %s is skipped: %s", head_id, error)
            head_id = parent
        return entries[::-1]

    def entry(self, entry_id: str) -> ConversationEntry:
        entry = self._entries[entry_id]
        message: ModelMessage = _copied(entry.stored) if entry.made else message_of(entry.stored)
        return ConversationEntry(id=entry_id, parent_id=entry.parent, message=message)

    def records_to_save(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry]
    ) -> list[SessionMessage]:
        """Return the session records to append in order to save a conversation.

        `record` is pydantic-ai's conversation record, and `entries` are the messages to save.
        Entries that are stored already are left out.
        """
        records: list[SessionMessage] = []
        head = self.head
        save = {"save": json_codec.decode(_RECORD.dump_json(record))}
        new = [entry for entry in entries if entry.id not in self]
        for entry in new:
            own: dict[str, Any] = {} if entry.parent_id == head else {"parent": entry.parent_id}
            head = entry.id
            if entry is new[-1] and head == record.head_id:
                own |= save
            records += records_of(entry.id, entry.message, own)
        if not new or head != record.head_id:
            text = "" if head == record.head_id else _ANOTHER_BRANCH
            records.append(SessionMessage("system", text, extra={KEY: save}))
        return records

    def _take_own(self, record: SessionMessage, own: dict[str, Any]) -> None:
        self.last = record
        if "message" in own and record.id not in self._entries:
            parent = own.get("parent", self.head)
            # The parent may be missing, if its line in the file is damaged.
            known = parent is None or parent in self._entries
            entry = _Entry(parent if known else self.head, own["message"], False)
            self._entries[record.id] = entry
            self.head, self._is_saved = record.id, False
        if isinstance(own.get("save"), dict):
            saved = cast("dict[str, Any]", own["save"])
            self._last_save, self._is_saved = saved, True
            head = saved.get("head_id", self.head)
            if head is None or head in self._entries:
                self.head = head

    def _take_other(self, record: SessionMessage) -> None:
        for number, message in enumerate(made_of(record, self._names)):
            id = f"{record.id}.{number}" if number else record.id
            self._entries[id] = _Entry(self.head, message, True)
            self.head, self._is_saved, self.last = id, False, record


class OpenEntryLog:
    """The entries of one session, held in memory. Hold `lock` while using them."""

    def __init__(self, store: SessionStore, id: str) -> None:
        self.lock: threading.Lock = threading.Lock()
        self._follower = Follower(store, id)
        self._log = EntryLog()

    def now(self) -> EntryLog:
        """Read the new records of the session, and return all its entries."""
        is_reset, records = self._follower.new()
        if is_reset:
            self._log = EntryLog()
        self._log.take(records)
        return self._log


def saved_in(record: SessionMessage) -> ConversationRecord | None:
    """Return the conversation record of pydantic-ai that a session record contains.

    Only the last session record of each save contains a conversation record. The result is None for
    any other session record.
    """
    saved = (_own_data(record) or {}).get("save")
    return _read_record(cast("dict[str, Any]", saved)) if isinstance(saved, dict) else None


def _own_data(record: SessionMessage) -> dict[str, Any] | None:
    """Return pydantic-ai's data in a record, or None for a record of another program."""
    own: Any = record.extra.get(KEY)
    return cast("dict[str, Any]", own) if isinstance(own, dict) else None


def _read_record(saved: dict[str, Any] | None) -> ConversationRecord | None:
    try:
        return None if saved is None else _RECORD.validate_json(json_codec.encode(saved))
    except ValueError as error:
        log.warning("saved data of a conversation is skipped: %s", error)
        return None


def _copied(message: ModelMessage) -> ModelMessage:
    from copy import deepcopy

    return deepcopy(message)
