"""The base class of the session stores in Redis and PostgreSQL.

Many processes and machines may share such a store. A session is stored as the same lines of JSON as
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
from cortext.formats.line_formats import StoredRecords, calls_in_head, encode_records, join
from cortext.formats.log import LOG
from cortext.formats.message_lines import Damage, RecordBlock, decode_lines, encode_record
from cortext.model import json_codec, message_dicts
from cortext.model.ids import check_id
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_head_codec import check_head
from cortext.stores.damage_checks import (
    at,
    log_damage,
    name_mismatch,
    raise_if_damaged,
    refuse_damage,
    refuse_newer,
)
from cortext.stores.line_store_base import StoredSession
from cortext.stores.port import Reading, SessionStore
from cortext.stores.save_merge import KnownRecords, check_tool_calls
from cortext.stores.servers.server_calls import append_hints
from cortext.stores.servers.stored_session_parts import (
    NewRecords,
    Parts,
    RecordPosition,
    RecordRow,
    SessionChange,
    StoredHead,
)

_UNCHANGED_HINT = "nothing was changed; `read` returns everything that can be read"
_LONGEST_ID = 200
_LONG_AGO = datetime.fromtimestamp(0, UTC)


class ServedStore(SessionStore):
    """The base class of session stores on a server. Subclasses implement the access to the server.

    The caller may change every object that a method returns.
    """

    def __init__(self, *, on_change: Callable[[str], None] | None = None) -> None:
        self.on_change = on_change
        self._known = KnownRecords()

    @abstractmethod
    def inner(self, name: str) -> ServedStore:
        """Return a store for the inner space `name`: a part of this store with its own sessions.

        The inner store uses the same server. This store does not list the sessions of the inner
        store.
        """

    @abstractmethod
    def alone(self, id: str) -> AbstractContextManager[Any]:
        """Hold the exclusive lock of a session during a `with` block.

        No other caller of `alone`, on any machine, gets the lock meanwhile. The thread that holds
        the lock may call `alone` again. A thread that takes too long or loses its connection can
        lose the lock. Then its next write to the session raises SessionLockedError.
        """

    @abstractmethod
    def _where(self, id: str) -> str:
        """Return the server and the name of a session, for error messages."""

    @abstractmethod
    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        """Return a session with its newest records (messages); None if the session does not exist.

        `last` is the number of records to return. None means all records.
        """

    @abstractmethod
    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None: ...

    @abstractmethod
    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        """Append the records (messages) whose keys are new, and return how many records were new.

        Return None if the session does not exist.
        """

    @abstractmethod
    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        """Change a stored session: call `change` with the session, and store the result.

        `change` gets None if the session does not exist. If another process writes to the session
        meanwhile, `change` is called again with the new content. If `records` is False, `change`
        gets the session without its records.
        """

    @abstractmethod
    def _remove(self, id: str) -> bool: ...

    @abstractmethod
    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        """Yield the heads of all sessions, or of the sessions of `owner`, sorted by id.

        A head has all fields of a session except its messages. If `last` is true, each head comes
        with the last message.
        """

    def save(self, session: Session) -> None:
        check_id(session.id)
        check_head(session)

        def change(stored: Parts | None) -> SessionChange:
            if stored is not None:
                found = self._join(session.id, stored).reading
                refuse_damage(found.damages, _UNCHANGED_HINT)
                self._known.add_others_records(session, found.session)
            lines = encode_records(session, LOG)
            rows = [_row(one, line) for one, line in zip(session.messages, lines, strict=True)]
            return _change(session, None, rows)

        self._rewrite(session.id, change)
        self._known.note(session)
        self._notify(session.id)

    def checkpoint(self, session: Session) -> None:
        check_id(session.id)
        check_head(session)

        def change(stored: Parts | None) -> SessionChange:
            if stored is None:
                raise SessionNotFoundError(session.id)
            found = self._join(session.id, stored)
            refuse_damage(found.reading.damages, _UNCHANGED_HINT)
            return _change(session, found.records)

        self._rewrite(session.id, change)
        self._notify(session.id)

    def amend(self, id: str, **fields: Any) -> Session:
        """Set attributes of a session, such as `title="New"`, and store them.

        Return the session without its messages, which are not read. SessionNotFoundError is raised
        if the session does not exist.
        """
        check_id(id)

        def change(stored: Parts | None) -> SessionChange:
            nonlocal amended
            if stored is None:
                raise SessionNotFoundError(id)
            amended, calls = self._decode_head(id, stored.head)
            for name, value in fields.items():
                setattr(amended, name, value)
            return _change(amended, StoredRecords([], frozenset(), calls))

        amended = Session(id)
        self._rewrite(id, change, records=False)
        self._notify(id)
        return amended

    def append(
        self,
        id: str,
        *messages: SessionMessage,
        tool_invocations: Sequence[ToolInvocation] = (),
    ) -> int:
        check_id(id)
        check_tool_calls(messages, tool_invocations)
        rows: dict[str, RecordRow] = {}
        tool_calls = tool_invocations
        for message in messages:
            row = _row(message, encode_record(message, LOG.records, tool_calls))
            rows.setdefault(row.key, row)
            tool_calls = ()
        with append_hints():
            new = self._push(id, list(rows.values()))
        if new is None:
            raise SessionNotFoundError(id)
        self._notify(id)
        return new

    def load(self, id: str) -> Session:
        reading = self.read(id)
        raise_if_damaged(reading.damages, _UNCHANGED_HINT)
        return reading.session

    def read(self, id: str) -> Reading:
        reading = self._join(id, self._fetch_existing(id)).reading
        self._known.note(reading.session)
        return reading

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        wanted = max(count, 0)
        while True:
            lines = self._fetch_existing(id, wanted).lines
            messages = _decode_records(lines).messages
            if len(messages) >= count or len(lines) < wanted:
                return messages[-count:] if count > 0 else []
            wanted *= 4  # read more lines, because damaged ones were skipped

    def since(
        self, id: str, mark: RecordPosition
    ) -> tuple[RecordPosition, bool, list[SessionMessage]]:
        """Return the messages that were stored after the position `mark`.

        The result is the new position, a flag, and the messages. The flag is True if `mark` is no
        longer valid, because a save replaced the records or the server lost some of them. If the
        flag is True, the result has all messages of the session.

        If the session does not exist, there are no messages and the new position is empty.
        """
        new = self._since(check_id(id), mark)
        if new is None:
            return RecordPosition(), mark.epoch != "", []
        lines = _decode_records(new.lines)
        for damage in at(self._where(id), lines.damages):
            log_damage(damage)
        return new.mark, new.anew, lines.messages

    def head(self, id: str) -> Session:
        """Return a session without its messages. The messages are not read."""
        return self._decode_head(id, self._fetch_existing(id, 0).head)[0]

    def heads(self, owner: str | None = None, *, last: bool = False) -> Iterator[Session]:
        """Yield all sessions, or the sessions of `owner`, without their messages.

        A session whose head cannot be read is logged and left out. If `last` is true, the last
        message of each session is read, and `updated_at` is at least the time of this message.
        """
        for session, messages in self._heads_and_last(owner, last):
            for message in messages:
                session.updated_at = max(session.updated_at, message.timestamp)
            yield session

    def latest(self, owner: str | None = None) -> Iterator[tuple[Session, list[SessionMessage]]]:
        """Yield each session with its last message: all sessions, or the sessions of `owner`.

        The message is in a list. The list is empty if there is no message, or if the message cannot
        be read. The session object has no messages, and its `updated_at` is the value in the stored
        head.
        """
        return self._heads_and_last(owner, True)

    def _heads_and_last(
        self, owner: str | None, last: bool
    ) -> Iterator[tuple[Session, list[SessionMessage]]]:
        for id, head, line in self._heads(None if owner is None else _short_key(owner), last):
            try:
                session, _ = self._decode_head(id, head)
            except SessionStorageError as error:
                log_damage(Damage(f"not listed: {error}", path=self._where(id)))
                continue
            yield session, _decode_records([line] if line else []).messages

    def exists(self, id: str) -> bool:
        return self._fetch(check_id(id), 0) is not None

    def delete(self, id: str) -> bool:
        existed = self._remove(check_id(id))
        if existed:
            self._notify(id)
        return existed

    def _fetch_existing(self, id: str, last: int | None = None) -> Parts:
        parts = self._fetch(check_id(id), last)
        if parts is None:
            raise SessionNotFoundError(id)
        return parts

    def _notify(self, id: str) -> None:
        if self.on_change is not None:
            self.on_change(id)

    def _decode_head(
        self, id: str, line: bytes
    ) -> tuple[Session, list[tuple[int, ToolInvocation]]]:
        """Decode the head of a session, and return the session and the tool calls in the head.

        The session has neither messages nor tool calls. Each tool call comes with the number of
        messages before the call. SessionCorruptedError is raised if the line is not a head.
        """
        where = self._where(id)
        try:
            head = log.decode_head_line(line, [])
            refuse_newer(head, where)
            session = join(head, RecordBlock([], [], []), LOG)
            calls = calls_in_head(head)
        except ValueError as error:
            raise SessionCorruptedError(where, str(error), hint=_UNCHANGED_HINT) from None
        session.id, session.tool_history = id, []
        return session, calls

    def _join(self, id: str, parts: Parts) -> StoredSession:
        """Build a session from its stored lines.

        If the line of the head (title, times and so on) is unusable, a new head is made from the
        messages, and the result lists the damage.
        """
        where, lines = self._where(id), _decode_records(parts.lines)
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
            started = lines.messages[0].timestamp if lines.messages else _LONG_AGO
            session = join({"created_at": message_dicts.iso(started)}, lines, LOG)
        session.id = id
        reading = Reading(session, at(where, [*damages, *lines.damages]))
        return StoredSession(reading, StoredRecords(lines.messages, in_lines, in_head))


def as_text(text: str) -> str:
    """Return `text` with special characters escaped as in JSON, so that every server accepts it.

    For example, NULs and lone surrogates become escapes. Most text stays the same.
    """
    return json_codec.encode(text).decode("utf-8")[1:-1]


def _change(
    session: Session, stored: StoredRecords | None, rows: Sequence[RecordRow] | None = None
) -> SessionChange:
    head = log.encode_head_line(session, stored).rstrip(b"\n")
    return SessionChange(head, _short_key(session.owner), rows)


def _row(message: SessionMessage, line: bytes) -> RecordRow:
    return RecordRow(_short_key(message.id), line.rstrip(b"\n"))


def _short_key(text: str) -> str:
    """Return `text`, or a hash of a long `text`, so that every server can use it in an index."""
    text = as_text(text)
    return text if len(text) <= _LONGEST_ID else hashlib.sha256(text.encode()).hexdigest()


def _decode_records(lines: Sequence[bytes]) -> RecordBlock:
    return decode_lines(b"".join(line + b"\n" for line in lines), LOG.records)
