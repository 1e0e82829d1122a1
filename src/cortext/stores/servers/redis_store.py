"""The session store in Redis, for programs that share a server. Sessions do not expire."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from cortext.durability.file_lock import DEFAULT_WAIT
from cortext.errors import (
    NewerVersionError,
    SessionLockedError,
    SessionStorageError,
)
from cortext.model.ids import check_id, new_id
from cortext.stores.servers import session_scripts as scripts
from cortext.stores.servers.redis_connection import RedisAddress, RedisConnection, place_of
from cortext.stores.servers.server_base import ServedStore
from cortext.stores.servers.session_parts import (
    INNER,
    Holder,
    NewRecords,
    Parts,
    RecordPosition,
    RecordRow,
    SessionChange,
    StoredHead,
)
from cortext.stores.servers.session_parts import holder as _me

log: logging.Logger = logging.getLogger("cortext.stores")
ALONE = 8_000
"""Milliseconds after which an exclusive lock expires, unless its holder uses the session again.

This is shorter than the time for which other callers wait for the lock.
"""
_HOLD = 5_000
_UPLOAD = 60_000
_AT_ONCE = 1_000
_MOST_ROWS = 400_000
"""The maximum number of records in one append. A Redis command has fewer than 1,048,576 words."""
_LONGEST_PAUSE = 0.05


class _ReadSession(NamedTuple):
    """A session as it was read before a change.

    The write is refused if the stored `version` is no longer the same. `parts` is None if there is
    no session.
    """

    version: str
    owner: str | None
    parts: Parts | None


class RedisStore(ServedStore):
    """A session store in one Redis database, or in one space of a database.

    A space is a named part of a database with its own sessions. Sessions are as durable as the
    server: with `appendfsync always`, as durable as a file.
    """

    def __init__(self, url: str, *, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__(on_change=on_change)
        self._place: RedisAddress = place_of(url)
        self._link = RedisConnection(self._place)
        self._prefix = ":".join(("cortext:sessions", *self._place.space))
        self._fences: dict[Holder, str] = {}

    def inner(self, name: str) -> RedisStore:
        store = object.__new__(RedisStore)
        ServedStore.__init__(store)
        store._place, store._link = self._place, self._link
        store._prefix, store._fences = f"{self._prefix}:{INNER}{name}", {}
        return store

    def list_session_ids(self) -> list[str]:
        ids = self._listed(self._list())
        there = self._link.each([("EXISTS", self._key(id)) for id in ids])
        return [id for id, found in zip(ids, there, strict=True) if found]

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        mine = _me(check_id(id))
        if mine in self._fences:
            yield
            return
        with self._leased(id, self._keys(id)[3], ALONE) as token:
            self._fences[mine] = token
            try:
                yield
            finally:
                del self._fences[mine]

    def _where(self, id: str) -> str:
        return f"Redis at {self._place.address.shown}, {self._key(id)}"

    def _key(self, id: str) -> str:
        return f"{self._prefix}:{{{id}}}"

    def _keys(self, id: str, *more: str) -> list[str]:
        """Return the Redis keys of a session in the order that the Lua scripts expect.

        `more` names additional keys, which come last.
        """
        key = self._key(id)
        return [key, *(f"{key}:{part}" for part in ("records", "ids", "alone", "hold", *more))]

    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        return self._look(id, last).parts

    def _look(self, id: str, last: int | None = None) -> _ReadSession:
        start = 0 if last is None else (-last if last else "")
        found = self._link.run(scripts.FETCH, self._keys(id)[:2], start)
        if not found:
            return _ReadSession("", None, None)
        self._extend(id)
        (format, version, head, owner), lines = found
        self._check_format(id, format)
        return _ReadSession(version.decode(), owner.decode(), Parts(head, lines))

    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None:
        found = self._link.run(scripts.SINCE, self._keys(id)[:2], mark.epoch, mark.number)
        if not found:
            return None
        format, epoch, start, lines = found
        self._check_format(id, format)
        now = RecordPosition(epoch.decode(), start + len(lines))
        return NewRecords(now, (now.epoch, start) != mark, lines)

    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        call, new = new_id(), 0
        for first in range(0, max(len(rows), 1), _MOST_ROWS):
            words = [word for row in rows[first : first + _MOST_ROWS] for word in row]
            said = self._write(scripts.APPEND, id, self._keys(id), "", call, *words)
            if said[0] == b"none":
                return None
            new += int(said[1])
        return new

    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        last = None if records else 0
        look = self._look(id, last)
        if self._put(id, look, change(look.parts), ""):
            return
        # Someone else wrote in between: try again while no one else can write.
        deadline = time.monotonic() + DEFAULT_WAIT
        while time.monotonic() < deadline:
            with self._leased(id, self._keys(id)[4], _HOLD) as token:
                look = self._look(id, last)
                if self._put(id, look, change(look.parts), token):
                    return
        raise SessionLockedError(self._where(id), holder="other writers", waited=DEFAULT_WAIT)

    def _put(self, id: str, look: _ReadSession, change: SessionChange, hold: str) -> bool:
        """Store `change` unless another process changed the session since it was read as `look`.

        Return whether it was stored. `hold` is the token of the caller's lock, or "".
        """
        # List the session first: readers skip a listed session that does not exist. List an
        # existing session too: a killed process may have left it out of the lists.
        self._enter(id, change.owner)
        epoch = "" if change.rows is None else self._upload(id, change.rows)
        words = (look.version, change.head, change.owner, epoch, new_id(), len(change.rows or ()))
        said = self._write(scripts.WRITE, id, self._new_keys(id, epoch), hold, *words)
        if said[0] != b"done":
            return False
        if look.owner is None:
            # List it again: a process that deleted an earlier session with this id may have
            # unlisted it.
            self._enter(id, change.owner)
        elif look.owner != change.owner:
            self._strike_off(id, self._list(look.owner))
        return True

    def _upload(self, id: str, rows: Sequence[RecordRow]) -> str:
        """Send records that will replace those of a session, and return the name of their epoch.

        They are stored under temporary keys until the script WRITE moves them into place.
        """
        epoch = new_id()
        keys = self._new_keys(id, epoch)[-2:]
        for first in range(0, len(rows), _AT_ONCE):
            words = [word for row in rows[first : first + _AT_ONCE] for word in row]
            self._link.run(scripts.UPLOAD, keys, _UPLOAD, first, *words)
        self._extend(id)
        return epoch

    def _new_keys(self, id: str, epoch: str) -> list[str]:
        return self._keys(id, f"new:{epoch}", f"new-ids:{epoch}")

    def _remove(self, id: str) -> bool:
        look = self._look(id, 0)
        if look.parts is None:
            # A process that was killed during a delete may have left the id in the list.
            self._strike_off(id, self._list())
            return False
        # Unlist the session last. Readers skip a listed session that does not exist, and a process
        # that is killed in between leaves no session out of the lists.
        self._write(scripts.REMOVE, id, self._keys(id), "")
        self._strike_off(id, self._list(), self._list(look.owner))
        return True

    def _list(self, owner: str | None = None) -> str:
        """Return the Redis key of the set of all session ids, or of one owner's session ids."""
        return f"{self._prefix}:@all" if owner is None else f"{self._prefix}:@owner:{owner}"

    def _enter(self, id: str, owner: str | None) -> None:
        self._link.each([("SADD", place, id) for place in (self._list(), self._list(owner))])

    def _strike_off(self, id: str, *lists: str) -> None:
        """Remove a session id from the sets of ids whose keys are `lists`.

        If another process has created the session again meanwhile, its id is added again.
        """
        self._link.each([("SREM", place, id) for place in lists])
        now = self._look(id, 0)
        if now.parts is not None:
            self._enter(id, now.owner)

    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        ids = self._listed(self._list(owner))
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            heads = self._link.each([("HMGET", self._key(id), "head", "owner") for id in some])
            asked = [("LINDEX", self._keys(id)[1], -1) for id in some] if last else []
            lines = self._link.each(asked) or [None] * len(some)
            for id, (head, whose), line in zip(some, heads, lines, strict=True):
                if head is not None and (owner is None or whose.decode() == owner):
                    yield StoredHead(id, head, line)

    def _listed(self, key: str) -> list[str]:
        found: Any = self._link.ask(lambda client: client.smembers(key))
        return sorted(id.decode() for id in found)

    def _write(
        self, script: scripts.SessionScript, id: str, keys: Sequence[str], hold: str, *words: Any
    ) -> list[Any]:
        """Run a script that writes to a session, and return its answer.

        While another writer has locked the session, wait and try again. `hold` is the token of the
        caller's own lock for this write, or "".
        """
        fence = self._fences.get(_me(id), "")
        deadline, pause = time.monotonic() + DEFAULT_WAIT, 0.001
        while True:
            said = self._link.run(script, keys, fence, ALONE, hold, *words)
            if said[0] == b"newer":
                self._check_format(id, said[1])
            if said[0] == b"lost":
                raise self._lost(id)
            if said[0] != b"held":
                return said
            if time.monotonic() >= deadline:
                self._give_up(id, said[1])
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _extend(self, id: str) -> None:
        """Extend the exclusive lock of a session if this thread holds the lock.

        SessionLockedError is raised if the lock has already expired.
        """
        fence = self._fences.get(_me(id))
        if fence and not self._link.run(scripts.EXTEND, self._keys(id)[3:4], fence, ALONE):
            raise self._lost(id)

    def _lost(self, id: str) -> SessionLockedError:
        holder = "another: this one had it for too long"
        return SessionLockedError(self._where(id), holder=holder, waited=0)

    @contextmanager
    def _leased(self, id: str, key: str, lease: int) -> Generator[str]:
        """Hold the lock `key` and yield its token. SessionLockedError after a long wait.

        The lock expires after `lease` milliseconds, so the lock of a dead process ends.
        """
        token = f"{new_id()} process {os.getpid()} on {platform.node()}"
        deadline, pause = time.monotonic() + DEFAULT_WAIT, 0.001
        while holder := self._link.ask(lambda client: _taken(client, key, token, lease)):
            if time.monotonic() >= deadline:
                self._give_up(id, holder)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        mine = os.getpid()
        try:
            yield token
        finally:
            if mine == os.getpid():
                self._release(key, token)

    def _release(self, key: str, token: str) -> None:
        try:
            self._link.run(scripts.RELEASE, [key], token)
        except SessionStorageError as error:
            log.warning("a lock is left to end by itself: %s", error)

    def _give_up(self, id: str, holder: bytes) -> None:
        name = holder.decode().partition(" ")[2]
        raise SessionLockedError(self._where(id), holder=name, waited=DEFAULT_WAIT)

    def _check_format(self, id: str, found: bytes) -> None:
        if found.decode() != scripts.FORMAT:
            known = scripts.FORMAT
            raise NewerVersionError(self._where(id), found=found.decode(), known=known)


def _taken(client: Any, key: str, token: str, lease: int) -> bytes | None:
    """Take the lock `key` and return None. If another caller has the lock, return its token."""
    if client.set(key, token, nx=True, px=lease):
        return None
    holder = client.get(key) or b"- nobody, just now"
    # An earlier attempt may have taken the lock and lost the answer.
    return None if holder == token.encode() else holder
