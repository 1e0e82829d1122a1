"""The session store in PostgreSQL, for programs that already use a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from cortext.errors import SessionLockedError, SessionStorageError
from cortext.model.ids import check_id, new_id
from cortext.stores.servers import session_tables as tables
from cortext.stores.servers.postgres_connection import PostgresAddress, asked, link_to, place_of
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
    holder,
)


class PostgresStore(ServedStore):
    """A session store in one PostgreSQL database, or in one space of a database.

    A space is a named part of a database with its own sessions. When a write returns, the data is
    as durable as the server's setting `synchronous_commit` says, which is `on` by default.
    """

    def __init__(self, url: str, *, on_change: Callable[[str], None] | None = None) -> None:
        super().__init__(on_change=on_change)
        self._place: PostgresAddress = place_of(url)
        self._link = link_to(self._place)
        self._space = "/".join(self._place.space)
        self._mine: dict[Holder, Any] = {}

    def inner(self, name: str) -> PostgresStore:
        store = object.__new__(PostgresStore)
        ServedStore.__init__(store)
        store._place, store._link = self._place, self._link
        store._space, store._mine = f"{self._space}/{INNER}{name}".lstrip("/"), {}
        return store

    def list_session_ids(self) -> list[str]:
        return sorted(row[0] for row in self._link.rows(tables.IDS, space=self._space))

    def close(self) -> None:
        self._link.close()

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        mine = holder(check_id(id))
        if mine in self._mine:
            yield
            return
        values, where = {"space": self._space, "id": id}, self._where(id)
        with self._link.locked(tables.ALONE, tables.LEFT, values, where) as connection:
            # Write over the connection that holds the lock: if it breaks, nothing more is written.
            self._mine[mine] = connection
            try:
                yield
            finally:
                del self._mine[mine]

    def _where(self, id: str) -> str:
        return f"PostgreSQL at {self._place.address.shown}, session {id}"

    def _fetch(self, id: str, last: int | None = None) -> Parts | None:
        found = self._link.rows(tables.FETCH, space=self._space, id=id, last=last)
        return _parts(found[0][0], found[0][1]) if found else None

    def _since(self, id: str, mark: RecordPosition) -> NewRecords | None:
        values = {"space": self._space, "id": id, "epoch": mark.epoch, "number": mark.number}
        found = self._link.rows(tables.SINCE, **values)
        if not found:
            return None
        epoch, number, lines = found[0]
        # Fewer records than were read before: the server lost the last ones.
        anew = epoch != mark.epoch or number < mark.number
        return NewRecords(RecordPosition(epoch, number), anew, [line.encode() for line in lines])

    def _push(self, id: str, rows: Sequence[RecordRow]) -> int | None:
        values = {"space": self._space, "id": id, "call": new_id(), **_columns(rows)}
        there, new = self._writing(id, lambda link: asked(link, tables.APPEND, values))[0]
        return new if there else None

    def _rewrite(
        self, id: str, change: Callable[[Parts | None], SessionChange], *, records: bool = True
    ) -> None:
        is_changed = False
        while not is_changed:  # again, if another process created the session meanwhile
            is_changed = self._writing(id, lambda link: self._changed_in(link, id, change, records))

    def _changed_in(
        self,
        connection: Any,
        id: str,
        change: Callable[[Parts | None], SessionChange],
        records: bool,
    ) -> bool:
        key = {"space": self._space, "id": id}
        with connection.transaction():
            found = asked(connection, tables.HEAD_TO_CHANGE, key)
            lines = asked(connection, tables.LINES, key) if found and records else []
            stored = _parts(found[0][0], [row[0] for row in lines]) if found else None
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
        return bool(self._writing(id, delete)) or attempts > 1

    def _heads(self, owner: str | None, last: bool) -> Iterator[StoredHead]:
        statement = tables.HEADS_AND_LAST if last else tables.HEADS
        rows = self._link.rows(statement, space=self._space, owner=owner)
        for id, head, line in sorted(rows, key=itemgetter(0)):
            yield StoredHead(id, head.encode(), line.encode() if line is not None else None)

    def _writing(self, id: str, work: Callable[[Any], Any]) -> Any:
        connection = self._mine.get(holder(id))
        if connection is None:
            return self._link.work(work, self._where(id))
        try:
            with self._link.told(self._where(id), lost=True):
                return work(connection)
        except SessionStorageError:
            if not connection.closed:
                raise
        broke = "another: the connection broke"
        raise SessionLockedError(self._where(id), holder=broke, waited=0)


def _parts(head: str, lines: Sequence[str]) -> Parts:
    return Parts(head.encode(), [line.encode() for line in lines])


def _columns(rows: Sequence[RecordRow]) -> dict[str, list[str | None]]:
    """Return the keys and the lines of records as two lists, for arrays in SQL.

    If several records have the same key, only the first gets it; the others get None. This happens
    in a session that was read from a damaged file.
    """
    seen: set[str] = set()
    keys: list[str | None] = []
    for row in rows:
        keys.append(None if row.key in seen else row.key)
        seen.add(row.key)
    return {"keys": keys, "lines": [row.line.decode() for row in rows]}
