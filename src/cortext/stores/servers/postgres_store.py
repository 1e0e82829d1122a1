"""The session store in PostgreSQL, for programs that already use a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from cortext.errors import SessionLockedError, SessionStorageError
from cortext.model.ids import check_id, new_id
from cortext.stores.servers import postgres_tables as tables
from cortext.stores.servers.postgres_connection import (
    PostgresAddress,
    asked,
    connection_pool_for,
    place_of,
)
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
    holder,
)


class PostgresStore(ServedStore):
    """A session store in one PostgreSQL database, or in one space of a database.

    A space is a named part of a database with its own sessions. When a write returns, the data is
    as durable as the server's setting `synchronous_commit` says. This setting is `on` by default.
    """

    def __init__(self, url: str, *, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__(on_change=on_change)
        self._place: PostgresAddress = place_of(url)
        self._link = connection_pool_for(self._place)
        self._space = "/".join(self._place.space)
        self._locked_connections: dict[Holder, Any] = {}

    def inner(self, name: str) -> PostgresStore:
        store = object.__new__(PostgresStore)
        ServedStore.__init__(store)
        store._place, store._link = self._place, self._link
        store._space, store._locked_connections = f"{self._space}/{INNER}{name}".lstrip("/"), {}
        return store

    def list_session_ids(self) -> list[str]:
        return sorted(row[0] for row in self._link.rows(tables.IDS, space=self._space))

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        key = holder(check_id(id))
        if key in self._locked_connections:
            yield
            return
        values, where = {"space": self._space, "id": id}, self._where(id)
        with self._link.locked(tables.ALONE, tables.LEFT, values, where) as connection:
            # Write over the connection that holds the lock: if it breaks, nothing more is written.
            self._locked_connections[key] = connection
            try:
                yield
            finally:
                del self._locked_connections[key]

    def _where(self, id: str) -> str:
        return f"PostgreSQL at {self._place.address.shown}, session {id}"

    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        rows = self._link.rows(tables.FETCH, space=self._space, id=id, last=last)
        return _parts(rows[0][0], rows[0][1]) if rows else None

    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None:
        values = {"space": self._space, "id": id, "epoch": mark.epoch, "number": mark.number}
        rows = self._link.rows(tables.SINCE, **values)
        if not rows:
            return None
        epoch, number, lines = rows[0]
        # Fewer records than were read before: the server lost the last ones.
        is_reset = epoch != mark.epoch or number < mark.number
        return NewRecords(
            RecordPosition(epoch, number), is_reset, [line.encode() for line in lines]
        )

    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        values = {"space": self._space, "id": id, "call": new_id(), **_columns(rows)}
        exists, new = self._run_write(id, lambda link: asked(link, tables.APPEND, values))[0]
        return new if exists else None

    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        is_changed = False
        while not is_changed:  # again, if another process created the session meanwhile
            is_changed = self._run_write(
                id, lambda link: self._try_change(link, id, change, records)
            )

    def _try_change(
        self,
        connection: Any,
        id: str,
        change: Callable[[Parts | None], SessionChange],
        records: bool,
    ) -> bool:
        key = {"space": self._space, "id": id}
        with connection.transaction():
            heads = asked(connection, tables.HEAD_TO_CHANGE, key)
            lines = asked(connection, tables.LINES, key) if heads and records else []
            stored = _parts(heads[0][0], [row[0] for row in lines]) if heads else None
            new = change(stored)
            values = {**key, "owner": new.owner, "head": new.head.decode()}
            if stored is not None:
                asked(connection, tables.CHANGE, values)
            elif not asked(connection, tables.CREATE, values):
                return False
            if new.rows is not None:
                columns = _columns(new.rows)
                asked(connection, tables.NEW_EPOCH, {**key, **columns, "epoch": new_id()})
                asked(connection, tables.CLEAR, key)
                asked(connection, tables.FILL, {**key, **columns})
        return True

    def _remove(self, id: str) -> bool:
        if self._fetch(id, 0) is None:
            return False
        values, attempts = {"space": self._space, "id": id}, 0

        def delete(link: Any) -> list[Any]:
            nonlocal attempts
            attempts += 1
            return asked(link, tables.DELETE, values)

        # An earlier attempt, whose answer was lost, may have deleted the session.
        return bool(self._run_write(id, delete)) or attempts > 1

    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        statement = tables.HEADS_AND_LAST if last else tables.HEADS
        rows = self._link.rows(statement, space=self._space, owner=owner)
        for id, head, line in sorted(rows, key=itemgetter(0)):
            yield StoredHead(id, head.encode(), line.encode() if line is not None else None)

    def _run_write(self, id: str, work: Callable[[Any], Any]) -> Any:
        connection = self._locked_connections.get(holder(id))
        if connection is None:
            return self._link.work(work, self._where(id))
        try:
            with self._link.told(self._where(id), lost=True):
                return work(connection)
        except SessionStorageError:
            if not connection.closed:
                raise
        lock_holder = "another process, because the connection broke"
        raise SessionLockedError(self._where(id), holder=lock_holder, waited=0)


def _parts(head: str, lines: Sequence[str]) -> Parts:
    return Parts(head.encode(), [line.encode() for line in lines])


def _columns(rows: Sequence[RecordRow]) -> dict[str, list[str | None]]:
    """Return the keys and the lines of records as two lists, for arrays in SQL.

    If several records have the same key, the list of keys has the key for the first of these
    records, and None for the others. Equal keys occur in a session that was read from a damaged
    file.
    """
    seen: set[str] = set()
    keys: list[str | None] = []
    for row in rows:
        keys.append(None if row.key in seen else row.key)
        seen.add(row.key)
    return {"keys": keys, "lines": [row.line.decode() for row in rows]}
