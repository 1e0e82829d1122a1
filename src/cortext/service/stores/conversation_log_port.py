"""The log of sessions that conversations in files stand on, as far as they need it.

The log store of `cortext.stores` is one. That is a layer beside this one, so it is given to us.
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
"""Rows of lists that are kept in memory whole."""
_SAMPLE = 100
"""Files whose size is measured to estimate the size of all."""
STORED_AT = "stored_at"
"""The key of a record that says when it was stored: a message's own time is its sender's."""


class ConversationLog(Protocol):
    """What these do is said in `cortext.stores.port` and `cortext.stores.log`."""

    first_lines: int
    """How many of the last messages are known again by their ids, at least."""

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
    """Change these keys of a head's metadata. Whoever else does waits meanwhile, in any process:
    what is merged is what is there."""
    sessions.head(id)
    side = side_dir(sessions.folder)
    with storage_errors("write", side), FileLock(os.path.join(side, "metadata.lock")):
        found = merged(sessions.head(id).metadata, changes)
        return sessions.amend(id, metadata=found).metadata


def mark_of(sessions: ConversationLog, id: str) -> object:
    """What changes with a session's file; the same for all that are not there."""
    try:
        it = _stat(sessions, id)
    except OSError as error:
        return error.errno
    return it.st_ino, it.st_size, it.st_mtime_ns


def measure_usage(sessions: ConversationLog) -> StoreUsage:
    """Count the sessions, and estimate their size on disk by a sample of their files."""
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
    """Rows of a list. When each began and whose it is, which tells whether it is listed and where,
    is read once, and again only after its file has changed; so is the rest, of those that are
    listed. A list then costs a look at each file, and that comes before it is read: what is written
    meanwhile is new the next time."""

    def __init__(self, sessions: ConversationLog) -> None:
        self._sessions = sessions
        self._begun: dict[str, tuple[object, datetime, str]] = {}
        self._known: dict[str, tuple[object, ConversationEntry]] = {}

    def begun(self, id: str) -> tuple[datetime, str]:
        """When it began, and whose it is; SessionNotFoundError if there is no such session."""
        mark = mark_of(self._sessions, id)
        known = self._begun.get(id)
        if known is None or known[0] != mark:
            head = self._sessions.head(id)
            known = self._begun[id] = mark, head.created_at, head.owner
        return known[1:]

    def entry(self, id: str) -> ConversationEntry:
        """The caller's own; SessionNotFoundError if there is no such session."""
        mark = mark_of(self._sessions, id)
        known = self._known.get(id)
        if known is None or known[0] != mark:
            known = mark, self._read(id)
            if id in self._known or len(self._known) < _MOST_ENTRIES:
                self._known[id] = known
        return replace(known[1], metadata=copied(known[1].metadata))

    def forget_all_but(self, ids: Set[str]) -> None:
        """Of sessions that are gone nothing is kept."""
        for known in (self._begun, self._known):
            for id in known.copy().keys() - ids:
                known.pop(id, None)

    def _read(self, id: str) -> ConversationEntry:
        head = self._sessions.head(id)
        last = updated_at(head, self._sessions.tail(id, 1))
        return ConversationEntry(id, head.created_at, last, head.owner, head.metadata)


def stamped(record: SessionMessage, at: datetime) -> SessionMessage:
    """The record as one that is stored then."""
    return replace(record, extra={**record.extra, STORED_AT: at.isoformat()})


def updated_at(head: Session, records: Sequence[SessionMessage]) -> datetime:
    """When a conversation began or the last of these was stored."""
    return max([head.updated_at, *map(_stored_at, records[-1:])])


def idle_since(last: datetime) -> float:
    """How many seconds ago that was; none if it is to come."""
    return max((clock.now() - last).total_seconds(), 0.0)


def _stored_at(record: SessionMessage) -> datetime:
    """When a store took it; its own time if that is not said."""
    try:
        return as_utc(datetime.fromisoformat(record.extra[STORED_AT]))
    except (KeyError, TypeError, ValueError):
        return record.timestamp
