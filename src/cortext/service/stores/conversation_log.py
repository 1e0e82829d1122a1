"""The interface of the log store that `FileConversationStore` uses, and functions for its files.

A log store is a folder with one file for each session. `cortext.stores.log.LogStore` has this
interface. The caller passes in a log store, because this package may not import `cortext.stores`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from msgspec.structs import replace

from cortext import clock
from cortext.durability.durable_files import side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.model.ids import check_id
from cortext.model.json_values import as_utc
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.service.stores.metadata import copied, merged
from cortext.service.stores.port import ConversationEntry
from cortext.service.stores.store_size_log import StoreUsage

_MAX_CACHED_ENTRIES = 20_000
"""The maximum number of complete list entries that `EntryCache` keeps."""
_SAMPLE_SIZE = 100
"""The approximate number of files that are measured to estimate the size of all files."""
STORED_AT = "stored_at"
"""The key for the time when the store saved a message.

The timestamp of the message cannot be used instead, because it comes from the sender.
"""


class ConversationLog(Protocol):
    """A log store: a folder with one file for each session.

    `cortext.stores.port.SessionStore` and `cortext.stores.log.LogStore` describe the methods.
    """

    first_lines: int
    """The number of last messages whose ids `append` knows, at least.

    `append` does not store a new message whose id it knows.
    """

    def save(self, session: Session) -> None: ...

    def append(self, id: str, *messages: SessionMessage) -> int: ...

    @property
    def folder(self) -> str: ...

    def head(self, id: str) -> Session: ...

    def amend(self, id: str, **fields: Any) -> Session: ...

    def tail(self, id: str, count: int) -> list[SessionMessage]: ...

    def delete(self, id: str, *, unless: Callable[[], bool] | None = None) -> bool: ...

    def list_session_ids(self) -> list[str]: ...

    def close(self) -> None: ...


def change_metadata(
    sessions: ConversationLog, id: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Change the metadata of a session, and return all its metadata.

    `changes` maps keys to their new values. The value None removes a key. A lock makes other
    threads and processes wait, so that no change is lost.
    """
    sessions.head(id)
    side = side_dir(sessions.folder)
    with storage_errors("write", side), FileLock(os.path.join(side, "metadata.lock")):
        metadata = merged(sessions.head(id).metadata, changes)
        return sessions.amend(id, metadata=metadata).metadata


def mark_of(sessions: ConversationLog, id: str) -> object:
    """Return a fingerprint of a session's file. It changes when the file changes.

    If the file does not exist, the fingerprint is the same for every session.
    """
    try:
        status = _stat(sessions, id)
    except OSError as error:
        return error.errno
    return status.st_ino, status.st_size, status.st_mtime_ns


def measure_usage(sessions: ConversationLog) -> StoreUsage:
    """Count the sessions, and estimate the size of their files from a sample of the files."""
    ids = sessions.list_session_ids()
    sizes: list[int] = []
    # The sample is evenly spread, so unchanged files give the same estimate.
    for id in ids[:: max(len(ids) // _SAMPLE_SIZE, 1)]:
        with suppress(OSError):
            sizes.append(_stat(sessions, id).st_size)
    return StoreUsage(len(ids), len(ids) * sum(sizes) / max(len(sizes), 1))


def _stat(sessions: ConversationLog, id: str) -> os.stat_result:
    return os.stat(os.path.join(sessions.folder, f"{check_id(id)}.jsonl"))


class EntryCache:
    """A cache for `list`, so that a file is read again only after it has changed.

    The cache has the creation time and the owner of every conversation, because `list` sorts and
    filters by them. It has a complete entry only for conversations that were listed.
    """

    def __init__(self, sessions: ConversationLog) -> None:
        self._sessions = sessions
        self._creations: dict[str, tuple[object, datetime, str]] = {}
        self._entries: dict[str, tuple[object, ConversationEntry]] = {}

    def begun(self, id: str) -> tuple[datetime, str]:
        """Return the creation time and the owner of a conversation.

        SessionNotFoundError is raised if the conversation does not exist.
        """
        fingerprint = mark_of(self._sessions, id)
        cached = self._creations.get(id)
        if cached is None or cached[0] != fingerprint:
            head = self._sessions.head(id)
            cached = self._creations[id] = fingerprint, head.created_at, head.owner
        return cached[1:]

    def entry(self, id: str) -> ConversationEntry:
        """Return the list entry of a conversation. The caller may change the entry.

        SessionNotFoundError is raised if the conversation does not exist.
        """
        fingerprint = mark_of(self._sessions, id)
        cached = self._entries.get(id)
        if cached is None or cached[0] != fingerprint:
            cached = fingerprint, self._read_entry(id)
            if id in self._entries or len(self._entries) < _MAX_CACHED_ENTRIES:
                self._entries[id] = cached
        return replace(cached[1], metadata=copied(cached[1].metadata))

    def retain_only(self, ids: Set[str]) -> None:
        """Forget the conversations that no longer exist.

        `ids` are the ids of all conversations that exist.
        """
        for cache in (self._creations, self._entries):
            for id in cache.copy().keys() - ids:
                cache.pop(id, None)

    def _read_entry(self, id: str) -> ConversationEntry:
        head = self._sessions.head(id)
        updated = updated_at(head, self._sessions.tail(id, 1))
        return ConversationEntry(id, head.created_at, updated, head.owner, head.metadata)


def stamped(record: SessionMessage, at: datetime) -> SessionMessage:
    """Return a copy of a message, with `at` as the time when the store saves the message."""
    return replace(record, extra={**record.extra, STORED_AT: at.isoformat()})


def updated_at(head: Session, records: Sequence[SessionMessage]) -> datetime:
    """Return the time of the last update of a conversation.

    This is the later of two times: `head.updated_at`, and the time when the store saved the last
    message. `head` is the session without its messages, and `records` are the last messages.
    """
    return max([head.updated_at, *map(_saved_at, records[-1:])])


def seconds_since(last: datetime) -> float:
    """Return the seconds that have passed since `last`, or 0 if `last` is in the future."""
    return max((clock.now() - last).total_seconds(), 0.0)


def _saved_at(record: SessionMessage) -> datetime:
    """Return the time when the store saved a message: the message's `stored_at`.

    If `stored_at` is missing or invalid, return the timestamp of the message.
    """
    try:
        return as_utc(datetime.fromisoformat(record.extra[STORED_AT]))
    except (KeyError, TypeError, ValueError):
        return record.timestamp
