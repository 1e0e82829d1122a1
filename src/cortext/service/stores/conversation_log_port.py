"""The methods of a log store that the conversation store in files needs.

`cortext.stores.log.LogStore` has these methods. This package may not import `cortext.stores`, so
the caller passes in a log store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from msgspec.structs import replace

from cortext import clock
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import side_dir, storage_errors
from cortext.model.ids import check_id
from cortext.model.json_values import as_utc
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.service.stores.metadata import copied, merged
from cortext.service.stores.port import ConversationEntry
from cortext.service.stores.usage_log import StoreUsage

_MOST_ENTRIES = 20_000
"""The maximum number of complete list entries in the cache."""
_SAMPLE = 100
"""About how many files are measured to estimate the size of all files."""
STORED_AT = "stored_at"
"""The key in a stored message for the time when the store saved the message.

The timestamp of a message cannot be used instead, because it comes from the sender.
"""


class ConversationLog(Protocol):
    """A log store: a folder with one file for each session.

    `cortext.stores.port.SessionStore` and `cortext.stores.log.LogStore` describe the methods.
    """

    first_lines: int
    """How many of the last messages `append` compares by id at least, to store none twice."""

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
    """Set the keys in `changes` in the metadata of a session, and return all metadata.

    A key whose value is None is removed. A lock makes other callers and processes wait, so that no
    change is lost.
    """
    sessions.head(id)
    side = side_dir(sessions.folder)
    with storage_errors("write", side), FileLock(os.path.join(side, "metadata.lock")):
        found = merged(sessions.head(id).metadata, changes)
        return sessions.amend(id, metadata=found).metadata


def mark_of(sessions: ConversationLog, id: str) -> object:
    """Return a value that differs after the file of a session was changed.

    All sessions without a file have the same value.
    """
    try:
        it = _stat(sessions, id)
    except OSError as error:
        return error.errno
    return it.st_ino, it.st_size, it.st_mtime_ns


def measure_usage(sessions: ConversationLog) -> StoreUsage:
    """Count the sessions, and estimate their size on disk from a sample of their files."""
    ids = sessions.list_session_ids()
    sizes: list[int] = []
    # The sample is evenly spread, so unchanged files give the same estimate.
    for id in ids[:: max(len(ids) // _SAMPLE, 1)]:
        with suppress(OSError):
            sizes.append(_stat(sessions, id).st_size)
    return StoreUsage(len(ids), len(ids) * sum(sizes) / max(len(sizes), 1))


def _stat(sessions: ConversationLog, id: str) -> os.stat_result:
    return os.stat(os.path.join(sessions.folder, f"{check_id(id)}.jsonl"))


class EntryCache:
    """A cache of conversations for `list`. A file is read again only after it has changed.

    For every conversation, the creation time and the owner are cached, because they decide whether
    and where it is listed. The complete entry is cached when the conversation is listed.

    So `list` checks whether each file has changed, but reads few files. The check comes before the
    read, so a change in between is noticed the next time.
    """

    def __init__(self, sessions: ConversationLog) -> None:
        self._sessions = sessions
        self._begun: dict[str, tuple[object, datetime, str]] = {}
        self._known: dict[str, tuple[object, ConversationEntry]] = {}

    def begun(self, id: str) -> tuple[datetime, str]:
        """Return when a conversation was created, and its owner.

        SessionNotFoundError is raised if the conversation does not exist.
        """
        mark = mark_of(self._sessions, id)
        known = self._begun.get(id)
        if known is None or known[0] != mark:
            head = self._sessions.head(id)
            known = self._begun[id] = mark, head.created_at, head.owner
        return known[1:]

    def entry(self, id: str) -> ConversationEntry:
        """Return a copy of the list entry of a conversation.

        SessionNotFoundError is raised if the conversation does not exist.
        """
        mark = mark_of(self._sessions, id)
        known = self._known.get(id)
        if known is None or known[0] != mark:
            known = mark, self._read(id)
            if id in self._known or len(self._known) < _MOST_ENTRIES:
                self._known[id] = known
        return replace(known[1], metadata=copied(known[1].metadata))

    def forget_all_but(self, ids: Set[str]) -> None:
        """Remove all conversations except `ids` from the cache, because they no longer exist."""
        for known in (self._begun, self._known):
            for id in known.copy().keys() - ids:
                known.pop(id, None)

    def _read(self, id: str) -> ConversationEntry:
        head = self._sessions.head(id)
        last = updated_at(head, self._sessions.tail(id, 1))
        return ConversationEntry(id, head.created_at, last, head.owner, head.metadata)


def stamped(record: SessionMessage, at: datetime) -> SessionMessage:
    """Return a copy of `record` that has the time `at` as its `stored_at`."""
    return replace(record, extra={**record.extra, STORED_AT: at.isoformat()})


def updated_at(head: Session, records: Sequence[SessionMessage]) -> datetime:
    """Return when a conversation was last updated.

    This is when the last of `records` was stored, or `updated_at` of the head if that is later.
    """
    return max([head.updated_at, *map(_stored_at, records[-1:])])


def idle_since(last: datetime) -> float:
    """Return the seconds since `last`, or 0 if `last` is in the future."""
    return max((clock.now() - last).total_seconds(), 0.0)


def _stored_at(record: SessionMessage) -> datetime:
    """Return when a store saved the record, or its timestamp if it has no valid `stored_at`."""
    try:
        return as_utc(datetime.fromisoformat(record.extra[STORED_AT]))
    except (KeyError, TypeError, ValueError):
        return record.timestamp
