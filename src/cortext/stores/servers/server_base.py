"""The base class of the session stores in Redis and PostgreSQL.

Many processes and machines may share such a store. A session is stored in the same lines of JSON as
in the log store. The first line is the head, which is everything of a session except its messages.
Every other line is a record: a message with the tool calls before it.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from cortext.errors import SessionCorruptedError, SessionNotFoundError, SessionStorageError
from cortext.formats import log
from cortext.formats.head_and_lines import StoredRecords, calls_in_head, encode_records, join
from cortext.formats.log import LOG
from cortext.formats.record_lines import Damage, RecordBlock, decode_lines, encode_record
from cortext.model import json_codec, record_dicts
from cortext.model.ids import check_id
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_head import check_head
from cortext.stores.damage_report import (
    at,
    name_mismatch,
    raise_if_damaged,
    refuse_damage,
    refuse_newer,
    warn_of,
)
from cortext.stores.line_store_base import StoredSession
from cortext.stores.merge_sessions import KnownRecords, check_riders
from cortext.stores.port import Reading, SessionStore
from cortext.stores.servers.session_parts import (
    NewRecords,
    Parts,
    RecordPosition,
    RecordRow,
    SessionChange,
    StoredHead,
)

_LEFT_ALONE = "nothing was changed there; `read` gives everything else that it holds"
_LONGEST_ID = 200
_LONG_AGO = datetime.fromtimestamp(0, UTC)


class ServedStore(SessionStore):
    """A session store on a server. Subclasses implement the access to the server.

    Every value that a method returns belongs to the caller.
    """

    def __init__(self, *, on_change: Callable[[str], None] | None = None) -> None:
        self.on_change = on_change
        self._known = KnownRecords()

    @abstractmethod
    def inner(self, name: str) -> ServedStore:
        """Return a store for the inner space `name`: a part of this store with its own sessions.

        The inner store uses the same server. This store does not list the inner sessions.
        """

    @abstractmethod
    def alone(self, id: str) -> AbstractContextManager[Any]:
        """Hold the exclusive lock of a session during a `with` block.

        No other caller of `alone`, on any machine, gets the lock meanwhile. The thread that holds
        the lock may take it again. A holder that takes too long or loses its connection can lose
        the lock. Its next write to the session then raises SessionLockedError.
        """

    @abstractmethod
    def _where(self, id: str) -> str:
        """Return the server and the name of a session, for error messages."""

    @abstractmethod
    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        """Return a session with its `last` newest records, or None if it does not exist.

        If `last` is None, return all records.
        """

    @abstractmethod
    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None: ...

    @abstractmethod
    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        """Append the records whose keys are new, and return how many were new.

        Return None if the session does not exist.
        """

    @abstractmethod
    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        """Call `change` with the stored session, or None if there is none, and store its result.

        If another process writes in between, `change` is called again with the new content. If
        `records` is False, `change` gets the session without its records.
        """

    @abstractmethod
    def _remove(self, id: str) -> bool: ...

    @abstractmethod
    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        """Yield the heads of all sessions, or of the sessions of `owner`, sorted by id.

        With `last`, the last record of each session is included.
        """

    def save(self, session: Session) -> None:
        check_id(session.id)
        check_head(session)

        def change(stored: Parts | None) -> SessionChange:
            if stored is not None:
                found = self._join(session.id, stored).reading
                refuse_damage(found.damages, _LEFT_ALONE)
                self._known.keep_others(session, found.session)
            lines = encode_records(session, LOG)
            rows = [_row(one, line) for one, line in zip(session.messages, lines, strict=True)]
            return _change(session, None, rows)

        self._rewrite(session.id, change)
        self._known.note(session)
        self._changed(session.id)

    def checkpoint(self, session: Session) -> None:
        check_id(session.id)
        check_head(session)

        def change(stored: Parts | None) -> SessionChange:
            if stored is None:
                raise SessionNotFoundError(session.id)
            found = self._join(session.id, stored)
            refuse_damage(found.reading.damages, _LEFT_ALONE)
            return _change(session, found.records)

        self._rewrite(session.id, change)
        self._changed(session.id)

    def amend(self, id: str, **fields: Any) -> Session:
        """Set attributes of a session, such as `title="New"`, and store only its head.

        Return the session without its records, which are not read. SessionNotFoundError is raised
        if the session does not exist.
        """
        check_id(id)

        def change(stored: Parts | None) -> SessionChange:
            nonlocal amended
            if stored is None:
                raise SessionNotFoundError(id)
            amended, calls = self._head_in(id, stored.head)
            for name, value in fields.items():
                setattr(amended, name, value)
            return _change(amended, StoredRecords([], frozenset(), calls))

        amended = Session(id)
        self._rewrite(id, change, records=False)
        self._changed(id)
        return amended

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        check_id(id)
        check_riders(messages, tool_invocations)
        rows: dict[str, RecordRow] = {}
        riding = tool_invocations
        for message in messages:
            row = _row(message, encode_record(message, LOG.records, riding))
            rows.setdefault(row.key, row)
            riding = ()
        new = self._push(id, list(rows.values()))
        if new is None:
            raise SessionNotFoundError(id)
        self._changed(id)
        return new

    def load(self, id: str) -> Session:
        reading = self.read(id)
        raise_if_damaged(reading.damages, _LEFT_ALONE)
        return reading.session

    def read(self, id: str) -> Reading:
        reading = self._join(id, self._there(id)).reading
        self._known.note(reading.session)
        return reading

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        wanted = max(count, 0)
        while True:
            found = self._there(id, wanted).lines
            messages = _decoded(found).messages
            if len(messages) >= count or len(found) < wanted:
                return messages[-count:] if count > 0 else []
            wanted *= 4  # damaged lines are skipped

    def since(
        self, id: str, mark: RecordPosition
    ) -> tuple[RecordPosition, bool, list[SessionMessage]]:
        """Return the messages that were stored after the position `mark`.

        The result is the new position, a flag, and the messages. The flag is True if `mark` is no
        longer valid, because a save replaced the records or the server lost some of them. Then the
        result has all messages of the session.

        If the session does not exist, there are no messages and the new position is empty.
        """
        found = self._since(check_id(id), mark)
        if found is None:
            return RecordPosition(), mark.epoch != "", []
        lines = _decoded(found.lines)
        for damage in at(self._where(id), lines.damages):
            warn_of(damage)
        return found.mark, found.anew, lines.messages

    def head(self, id: str) -> Session:
        """Return a session without its messages. Only the head is read."""
        return self._head_in(id, self._there(id, 0).head)[0]

    def heads(self, owner: str | None = None, *, last: bool = False) -> Iterator[Session]:
        """Yield all sessions, or the sessions of `owner`, without their messages.

        With `last`, the last message is also read, and `updated_at` is never earlier than it. A
        session whose head cannot be read is logged and left out.
        """
        for session, messages in self._outlines(owner, last):
            for message in messages:
                session.updated_at = max(session.updated_at, message.timestamp)
            yield session

    def latest(self, owner: str | None = None) -> Iterator[tuple[Session, list[SessionMessage]]]:
        """Yield all sessions, or the sessions of `owner`, each with a list of its last message.

        The list is empty if there is no message or it cannot be read. The session has no messages
        itself, and its `updated_at` is as stored in the head.
        """
        return self._outlines(owner, True)

    def _outlines(
        self, owner: str | None, last: bool
    ) -> Iterator[tuple[Session, list[SessionMessage]]]:
        for id, head, line in self._heads(None if owner is None else _short(owner), last):
            try:
                session, _ = self._head_in(id, head)
            except SessionStorageError as error:
                warn_of(Damage(f"not listed: {error}", path=self._where(id)))
                continue
            yield session, _decoded([line] if line else []).messages

    def exists(self, id: str) -> bool:
        return self._fetch(check_id(id), 0) is not None

    def delete(self, id: str) -> bool:
        there = self._remove(check_id(id))
        if there:
            self._changed(id)
        return there

    def _there(self, id: str, last: int | None = None) -> Parts:
        found = self._fetch(check_id(id), last)
        if found is None:
            raise SessionNotFoundError(id)
        return found

    def _changed(self, id: str) -> None:
        if self.on_change is not None:
            self.on_change(id)

    def _head_in(self, id: str, line: bytes) -> tuple[Session, list[tuple[int, ToolInvocation]]]:
        """Decode the line of a head. Return the session and the tool calls that the head contains.

        SessionCorruptedError is raised if the line is not a head.
        """
        where = self._where(id)
        try:
            head = log.decode_head_line(line, [])
            refuse_newer(head, where)
            session = join(head, RecordBlock([], [], []), LOG)
            calls = calls_in_head(head)
        except ValueError as error:
            raise SessionCorruptedError(where, str(error), hint=_LEFT_ALONE) from None
        session.id, session.tool_history = id, []
        return session, calls

    def _join(self, id: str, parts: Parts) -> StoredSession:
        """Build a session from its stored lines.

        If the head is unusable, a new one is made from the records and the damage is listed.
        """
        where, lines = self._where(id), _decoded(parts.lines)
        in_lines = frozenset(call.id for _, call in lines.invocations)
        notes: list[str] = []
        try:
            head = log.decode_head_line(parts.head, notes)
            refuse_newer(head, where)
            in_head, session = calls_in_head(head), join(head, lines, LOG)
            damages = [Damage(note, fatal=False) for note in notes]
            damages += name_mismatch(session.id, id)
        except ValueError as error:
            damages, in_head = [Damage(str(error))], []
            begun = lines.messages[0].timestamp if lines.messages else _LONG_AGO
            session = join({"created_at": record_dicts.iso(begun)}, lines, LOG)
        session.id = id
        reading = Reading(session, at(where, [*damages, *lines.damages]))
        return StoredSession(reading, StoredRecords(lines.messages, in_lines, in_head))


def as_text(text: str) -> str:
    """Return text with the escapes of JSON, so that every server accepts it.

    For example, NULs and lone surrogates become escapes. Most text stays the same.
    """
    return json_codec.encode(text).decode("utf-8")[1:-1]


def _change(
    session: Session, stored: StoredRecords | None, rows: Sequence[RecordRow] | None = None
) -> SessionChange:
    head = log.encode_head_line(session, stored).rstrip(b"\n")
    return SessionChange(head, _short(session.owner), rows)


def _row(message: SessionMessage, line: bytes) -> RecordRow:
    return RecordRow(_short(message.id), line.rstrip(b"\n"))


def _short(text: str) -> str:
    """Return text that is short enough for an index of any server. A long text becomes its hash."""
    text = as_text(text)
    return text if len(text) <= _LONGEST_ID else hashlib.sha256(text.encode()).hexdigest()


def _decoded(lines: Sequence[bytes]) -> RecordBlock:
    return decode_lines(b"".join(line + b"\n" for line in lines), LOG.records)
