"""The part of a session log that the file conversation store needs.

The log store of `cortext.stores` has these methods. This package may not import `cortext.stores`,
so the caller passes in a log.
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
"""How many complete rows the cache holds in memory."""
_SAMPLE = 100
"""The number of files whose size is measured to estimate the size of all."""
STORED_AT = "stored_at"
"""The key under which a record has the time when it was stored.

The timestamp of a message cannot be used for that: it comes from the sender.
"""


class ConversationLog(Protocol):
    """A log of sessions. `cortext.stores.port` and `cortext.stores.log` describe the methods."""

    first_lines: int
    """The minimum number of last messages that the log recognizes by their ids."""

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
    """Change these keys of a session's metadata, and return all metadata.

    A lock makes other changes wait, in this process and in others, so that no change is lost.
    """
    sessions.head(id)
    side = side_dir(sessions.folder)
    with storage_errors("write", side), FileLock(os.path.join(side, "metadata.lock")):
        found = merged(sessions.head(id).metadata, changes)
        return sessions.amend(id, metadata=found).metadata


def mark_of(sessions: ConversationLog, id: str) -> object:
    """Return a value that changes with a session's file. All missing files have the same value."""
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
    """A cache of the rows of a list. A row is read again only after its file has changed.

    The start and the owner of every conversation are cached. They decide whether and where a
    conversation is listed. The rest of a row is cached when the row is listed.

    So a list checks every file but rarely reads one. The check comes before the read, so a change
    in between is noticed the next time.
    """

    def __init__(self, sessions: ConversationLog) -> None:
        self._sessions = sessions
        self._begun: dict[str, tuple[object, datetime, str]] = {}
        self._known: dict[str, tuple[object, ConversationEntry]] = {}

    def begun(self, id: str) -> tuple[datetime, str]:
        """Return when a conversation began and its owner.

        SessionNotFoundError without a session.
        """
        mark = mark_of(self._sessions, id)
        known = self._begun.get(id)
        if known is None or known[0] != mark:
            head = self._sessions.head(id)
            known = self._begun[id] = mark, head.created_at, head.owner
        return known[1:]

    def entry(self, id: str) -> ConversationEntry:
        """Return the row of a conversation as the caller's own copy.

        SessionNotFoundError is raised if the session does not exist.
        """
        mark = mark_of(self._sessions, id)
        known = self._known.get(id)
        if known is None or known[0] != mark:
            known = mark, self._read(id)
            if id in self._known or len(self._known) < _MOST_ENTRIES:
                self._known[id] = known
        return replace(known[1], metadata=copied(known[1].metadata))

    def forget_all_but(self, ids: Set[str]) -> None:
        """Remove all rows except those of `ids`, because the other sessions are gone."""
        for known in (self._begun, self._known):
            for id in known.copy().keys() - ids:
                known.pop(id, None)

    def _read(self, id: str) -> ConversationEntry:
        head = self._sessions.head(id)
        last = updated_at(head, self._sessions.tail(id, 1))
        return ConversationEntry(id, head.created_at, last, head.owner, head.metadata)


def stamped(record: SessionMessage, at: datetime) -> SessionMessage:
    """Return the record with the time when it is stored."""
    return replace(record, extra={**record.extra, STORED_AT: at.isoformat()})


def updated_at(head: Session, records: Sequence[SessionMessage]) -> datetime:
    """Return when the last of the records was stored, or when the conversation began."""
    return max([head.updated_at, *map(_stored_at, records[-1:])])


def idle_since(last: datetime) -> float:
    """Return the seconds since `last`, or 0 if `last` is in the future."""
    return max((clock.now() - last).total_seconds(), 0.0)


def _stored_at(record: SessionMessage) -> datetime:
    """Return when a store saved the record, or the record's own time if that is unknown."""
    try:
        return as_utc(datetime.fromisoformat(record.extra[STORED_AT]))
    except (KeyError, TypeError, ValueError):
        return record.timestamp
