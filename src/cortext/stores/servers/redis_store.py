"""The session store in Redis, for programs that share a server. Sessions do not expire."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from cortext.durability.file_lock import DEFAULT_WAIT
from cortext.errors import (
    NewerVersionError,
    SessionLockedError,
    SessionStorageError,
)
from cortext.model.ids import check_id, new_id
from cortext.stores.servers import redis_scripts as scripts
from cortext.stores.servers.redis_connection import RedisAddress, RedisConnection, place_of
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.servers.stored_session_parts import (
    INNER,
    Holder,
    NewRecords,
    Parts,
    RecordPosition,
    RecordRow,
    SessionChange,
    StoredHead,
)
from cortext.stores.servers.stored_session_parts import holder as _lock_key

log: logging.Logger = logging.getLogger("cortext.stores")
ALONE = 8_000
"""Milliseconds after which an exclusive lock expires, unless its holder uses the session again.

This is shorter than the time for which other callers wait for the lock.
"""
_WRITE_LOCK_MS = 5_000
_UPLOAD_MS = 60_000
_BATCH_SIZE = 1_000
_MOST_ROWS = 400_000
"""The maximum number of records in one append. A Redis command has fewer than 1,048,576 words."""
_LONGEST_PAUSE = 0.05


class _ReadSession(msgspec.Struct, frozen=True):
    """A session that was read in order to change it. `parts` is None if there is no session.

    `version` is the version of the session when it was read. If the version on the server is
    different at the time of the write, the server refuses the write.
    """

    version: str
    owner: str | None
    parts: Parts | None


class RedisStore(ServedStore):
    """A session store in one Redis database, or in one space of a database.

    A space is a named part of a database with its own sessions. The settings of the Redis server
    decide how durable a write is. With `appendfsync always`, a write is as durable as in a file.
    """

    def __init__(self, url: str, *, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__(on_change=on_change)
        self._place: RedisAddress = place_of(url)
        self._link = RedisConnection(self._place)
        self._prefix = ":".join(("cortext:sessions", *self._place.space))
        self._lock_tokens: dict[Holder, str] = {}

    def inner(self, name: str) -> RedisStore:
        store = object.__new__(RedisStore)
        ServedStore.__init__(store)
        store._place, store._link = self._place, self._link
        store._prefix, store._lock_tokens = f"{self._prefix}:{INNER}{name}", {}
        return store

    def list_session_ids(self) -> list[str]:
        ids = self._ids_in_list(self._list_key())
        answers = self._link.each([("EXISTS", self._key(id)) for id in ids])
        return [id for id, exists in zip(ids, answers, strict=True) if exists]

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        key = _lock_key(check_id(id))
        if key in self._lock_tokens:
            yield
            return
        with self._hold_lock(id, self._keys(id)[3], ALONE) as token:
            self._lock_tokens[key] = token
            try:
                yield
            finally:
                del self._lock_tokens[key]

    def _where(self, id: str) -> str:
        return f"Redis at {self._place.address.shown}, {self._key(id)}"

    def _key(self, id: str) -> str:
        return f"{self._prefix}:{{{id}}}"

    def _keys(self, id: str, *more: str) -> list[str]:
        """Return the Redis keys of a session in the order that the Lua scripts expect.

        `more` has the names of additional keys, which come last.
        """
        key = self._key(id)
        return [key, *(f"{key}:{part}" for part in ("records", "ids", "alone", "hold", *more))]

    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        return self._read_session(id, last).parts

    def _read_session(self, id: str, last: int | None = None) -> _ReadSession:
        start = 0 if last is None else (-last if last else "")
        answer = self._link.run(scripts.FETCH, self._keys(id)[:2], start)
        if not answer:
            return _ReadSession("", None, None)
        self._extend(id)
        (format, version, head, owner), lines = answer
        self._check_format(id, format)
        return _ReadSession(version.decode(), owner.decode(), Parts(head, lines))

    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None:
        answer = self._link.run(scripts.SINCE, self._keys(id)[:2], mark.epoch, mark.number)
        if not answer:
            return None
        format, epoch, start, lines = answer
        self._check_format(id, format)
        position = RecordPosition(epoch.decode(), start + len(lines))
        return NewRecords(position, RecordPosition(epoch.decode(), start) != mark, lines)

    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        call, new = new_id(), 0
        for first in range(0, max(len(rows), 1), _MOST_ROWS):
            words = [word for row in rows[first : first + _MOST_ROWS] for word in row]
            answer = self._write(scripts.APPEND, id, self._keys(id), "", call, *words)
            if answer[0] == b"none":
                return None
            new += int(answer[1])
        return new

    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        last = None if records else 0
        stored = self._read_session(id, last)
        if self._put(id, stored, change(stored.parts), ""):
            return
        # Someone else wrote in between: try again while no one else can write.
        deadline = time.monotonic() + DEFAULT_WAIT
        while time.monotonic() < deadline:
            with self._hold_lock(id, self._keys(id)[4], _WRITE_LOCK_MS) as token:
                stored = self._read_session(id, last)
                if self._put(id, stored, change(stored.parts), token):
                    return
        raise SessionLockedError(self._where(id), holder="other writers", waited=DEFAULT_WAIT)

    def _put(self, id: str, stored: _ReadSession, change: SessionChange, write_token: str) -> bool:
        """Store `change`, and return whether it was stored.

        Nothing is stored if another process changed the session after this process read `stored`.
        `write_token` is the token of the caller's lock for this write, or "".
        """
        # List the session first: readers skip a listed session that does not exist. List an
        # existing session too: a killed process may have left it out of the lists.
        self._add_to_lists(id, change.owner)
        epoch = "" if change.rows is None else self._upload(id, change.rows)
        words = (stored.version, change.head, change.owner, epoch, new_id(), len(change.rows or ()))
        answer = self._write(scripts.WRITE, id, self._new_keys(id, epoch), write_token, *words)
        if answer[0] != b"done":
            return False
        if stored.owner is None:
            # List it again: a process that deleted an earlier session with this id may have
            # unlisted it.
            self._add_to_lists(id, change.owner)
        elif stored.owner != change.owner:
            self._remove_from_lists(id, self._list_key(stored.owner))
        return True

    def _upload(self, id: str, rows: Sequence[RecordRow]) -> str:
        """Send the new records of a session to the server, and return the name of their epoch.

        The server stores the new records under temporary keys. Later, the script WRITE replaces the
        old records by the new records. An epoch is the time between two such replacements.
        """
        epoch = new_id()
        keys = self._new_keys(id, epoch)[-2:]
        for first in range(0, len(rows), _BATCH_SIZE):
            words = [word for row in rows[first : first + _BATCH_SIZE] for word in row]
            self._link.run(scripts.UPLOAD, keys, _UPLOAD_MS, first, *words)
        self._extend(id)
        return epoch

    def _new_keys(self, id: str, epoch: str) -> list[str]:
        return self._keys(id, f"new:{epoch}", f"new-ids:{epoch}")

    def _remove(self, id: str) -> bool:
        stored = self._read_session(id, 0)
        if stored.parts is None:
            # A process that was killed during a delete may have left the id in the list.
            self._remove_from_lists(id, self._list_key())
            return False
        # Unlist the session last. Readers skip a listed session that does not exist, and a process
        # that is killed in between leaves no session out of the lists.
        self._write(scripts.REMOVE, id, self._keys(id), "")
        self._remove_from_lists(id, self._list_key(), self._list_key(stored.owner))
        return True

    def _list_key(self, owner: str | None = None) -> str:
        """Return the Redis key of the set of all session ids, or of one owner's session ids."""
        return f"{self._prefix}:@all" if owner is None else f"{self._prefix}:@owner:{owner}"

    def _add_to_lists(self, id: str, owner: str | None) -> None:
        self._link.each(
            [("SADD", place, id) for place in (self._list_key(), self._list_key(owner))]
        )

    def _remove_from_lists(self, id: str, *lists: str) -> None:
        """Remove a session id from the sets of ids whose Redis keys are `lists`.

        If another process has created the session again meanwhile, the id is added again.
        """
        self._link.each([("SREM", place, id) for place in lists])
        current = self._read_session(id, 0)
        if current.parts is not None:
            self._add_to_lists(id, current.owner)

    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        ids = self._ids_in_list(self._list_key(owner))
        for first in range(0, len(ids), _BATCH_SIZE):
            batch = ids[first : first + _BATCH_SIZE]
            heads = self._link.each([("HMGET", self._key(id), "head", "owner") for id in batch])
            commands = [("LINDEX", self._keys(id)[1], -1) for id in batch] if last else []
            lines = self._link.each(commands) or [None] * len(batch)
            for id, (head, stored_owner), line in zip(batch, heads, lines, strict=True):
                if head is not None and (owner is None or stored_owner.decode() == owner):
                    yield StoredHead(id, head, line)

    def _ids_in_list(self, key: str) -> list[str]:
        members: Any = self._link.ask(lambda client: client.smembers(key))
        return sorted(id.decode() for id in members)

    def _write(
        self,
        script: scripts.SessionScript,
        id: str,
        keys: Sequence[str],
        write_token: str,
        *words: Any,
    ) -> list[Any]:
        """Run a script that writes to a session, and return its answer.

        If another writer has locked the session, wait and try again. SessionLockedError is raised
        if this takes too long. `write_token` is the token of the caller's own lock for this write,
        or "".
        """
        lock_token = self._lock_tokens.get(_lock_key(id), "")
        deadline, pause = time.monotonic() + DEFAULT_WAIT, 0.001
        while True:
            answer = self._link.run(script, keys, lock_token, ALONE, write_token, *words)
            if answer[0] == b"newer":
                self._check_format(id, answer[1])
            if answer[0] == b"lost":
                raise self._lost_lock_error(id)
            if answer[0] != b"held":
                return answer
            if time.monotonic() >= deadline:
                self._raise_locked(id, answer[1])
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _extend(self, id: str) -> None:
        """Extend the exclusive lock of a session if this thread holds the lock.

        SessionLockedError is raised if the lock has already expired.
        """
        lock_token = self._lock_tokens.get(_lock_key(id))
        if lock_token and not self._link.run(
            scripts.EXTEND, self._keys(id)[3:4], lock_token, ALONE
        ):
            raise self._lost_lock_error(id)

    def _lost_lock_error(self, id: str) -> SessionLockedError:
        holder = "another process, because this process held the lock for too long"
        return SessionLockedError(self._where(id), holder=holder, waited=0)

    @contextmanager
    def _hold_lock(self, id: str, key: str, lease: int) -> Generator[str]:
        """Hold the lock `key` during a `with` block, and yield the token of the lock.

        The lock expires after `lease` milliseconds, so that a process that dies does not lock the
        session forever. SessionLockedError is raised if another process holds the lock for too
        long.
        """
        token = f"{new_id()} process {os.getpid()} on {platform.node()}"
        deadline, pause = time.monotonic() + DEFAULT_WAIT, 0.001
        while holder := self._link.ask(lambda client: _try_lock(client, key, token, lease)):
            if time.monotonic() >= deadline:
                self._raise_locked(id, holder)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        pid = os.getpid()
        try:
            yield token
        finally:
            if pid == os.getpid():
                self._release(key, token)

    def _release(self, key: str, token: str) -> None:
        try:
            self._link.run(scripts.RELEASE, [key], token)
        except SessionStorageError as error:
            log.warning("could not release a lock, which expires later: %s", error)

    def _raise_locked(self, id: str, holder: bytes) -> None:
        name = holder.decode().partition(" ")[2]
        raise SessionLockedError(self._where(id), holder=name, waited=DEFAULT_WAIT)

    def _check_format(self, id: str, found: bytes) -> None:
        if found.decode() != scripts.FORMAT:
            known = scripts.FORMAT
            raise NewerVersionError(self._where(id), found=found.decode(), known=known)


def _try_lock(client: Any, key: str, token: str, lease: int) -> bytes | None:
    """Take the lock `key` and return None. If another caller has the lock, return its token.

    `token` identifies this caller. The lock expires after `lease` milliseconds.
    """
    if client.set(key, token, nx=True, px=lease):
        return None
    holder = client.get(key) or b"- nobody, just now"
    # An earlier attempt may have taken the lock and lost the answer.
    return None if holder == token.encode() else holder
