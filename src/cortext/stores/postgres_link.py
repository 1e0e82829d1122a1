"""The way to PostgreSQL: connections that are made when they are needed."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from cortext.durability.lock import DEFAULT_WAIT
from cortext.errors import NewerVersionError, SessionLockedError
from cortext.stores import postgres_tables as tables
from cortext.stores.servers import (
    TIMEOUT,
    Address,
    address_of,
    check_space,
    needed,
    refused,
    unanswered,
    until_answered,
)

log: logging.Logger = logging.getLogger("cortext.stores")
T = TypeVar("T")
_MOST_IDLE = 16
_IDLE = 30_000
"""Milliseconds after which the server ends a change whose maker says nothing more."""
SILENCE = DEFAULT_WAIT + TIMEOUT / 2
"""Seconds without an answer, also none that somebody else has the session, after which a server
counts as gone."""
_HINTS = {
    "3D000": "make it: createdb NAME",
    "28P01": "check the user and the password in the URL",
    "28000": "check the user in the URL, and the server's pg_hba.conf",
    "42501": f"the user needs CREATE on the database, or the schema {tables.SCHEMA}",
    "53100": "free some of the server's disk",
}
_STAYING = ("does not exist", "authentication failed", "no password supplied", "pg_hba.conf")


class Place(NamedTuple):
    """What a URL says."""

    address: Address
    url: str
    space: tuple[str, ...]


def place_of(url: str) -> Place:
    """`postgresql://HOST/DATABASE`, with the names of spaces after it."""
    address = address_of(url)
    database = quote("".join(address.steps[:1]), safe="")
    plain = address.url("postgresql", address.hosts, database)
    return Place(address, plain, check_space(address.steps[1:]))


class Link:
    """Connections to a database. Threads may share it, and forks."""

    def __init__(self, place: Place) -> None:
        self._psycopg = needed("psycopg", "PostgreSQL", "postgres")
        self._kind = _patient(self._psycopg)
        self._place = place
        try:
            self._psycopg.conninfo.conninfo_to_dict(place.url)
        except self._psycopg.Error as error:
            said = place.address.scrubbed(str(error))
            raise ValueError(f"not a URL of PostgreSQL: {said}") from None
        self._idle: list[Any] = []
        self._others: list[Any] = []
        self._pid = os.getpid()
        self._ready = False
        self._making = threading.Lock()
        # One that may only be read was the primary, and is not any more.
        self._lost = (
            self._psycopg.OperationalError,
            self._psycopg.errors.ReadOnlySqlTransaction,
        )

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """What the server answers to a statement, which may reach it twice."""
        return self.work(lambda connection: asked(connection, statement, values))

    def work(self, work: Callable[[Any], T], where: str = "") -> T:
        """What comes of some work with a connection, which may be done twice."""

        def attempt() -> T:
            with self._connection() as connection:
                return work(connection)

        return self._until_answered(attempt, where)

    @contextmanager
    def locked(self, lock: str, unlock: str, values: Any, where: str) -> Generator[Any]:
        """The connection that has a lock. It goes with the connection."""

        def take() -> Any:
            with self._connection(keep=True) as connection:
                asked(connection, lock, values)
                return connection

        connection = self._until_answered(take, where)
        try:
            yield connection
        finally:
            try:
                asked(connection, unlock, values)
            except self._psycopg.Error as error:
                log.info("a lock ended with its connection: %s", error)
                connection.close()
            self._give_back(connection)

    @contextmanager
    def told(self, where: str, *, lost: bool = False) -> Generator[None]:
        """What a server has against something, as our errors; with `lost`, also that it is gone."""
        try:
            yield
        except self._psycopg.errors.LockNotAvailable:
            raise SessionLockedError(
                where or self._place.address.shown, holder="another writer", waited=DEFAULT_WAIT
            ) from None
        except self._psycopg.Error as error:
            staying = any(words in str(error) for words in _STAYING)
            if isinstance(error, self._lost) and not staying and not lost:
                raise
            hint = _HINTS.get(getattr(error, "sqlstate", None) or "", "")
            raise refused("PostgreSQL", self._place.address, error, hint) from None

    def _until_answered(self, attempt: Callable[[], T], where: str) -> T:
        def told() -> T:
            with self.told(where):
                return attempt()

        return until_answered(
            told,
            passing=self._lost,
            no_answer=lambda error: unanswered("PostgreSQL", self._place.address, error),
        )

    @contextmanager
    def _connection(self, *, keep: bool = False) -> Generator[Any]:
        """A connection for one at a time, with the tables there. One that broke is not used again;
        with `keep`, whoever has it gives it back."""
        connection = self._taken() or self._open()
        try:
            self._prepare(connection)
            yield connection
        except BaseException:
            if connection.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
                connection.close()
            self._give_back(connection)
            raise
        if not keep:
            self._give_back(connection)

    def close(self) -> None:
        with self._making:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        # After a fork they are another process's.
        if getattr(self, "_idle", None) and self._pid == os.getpid():
            self.close()

    def _taken(self) -> Any:
        with self._making:
            if self._pid != os.getpid():
                # Those of the process that we were forked from: to close them would end them there.
                self._others += self._idle
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return None

    def _give_back(self, connection: Any) -> None:
        with self._making:
            if connection.closed:
                # Those that lie idle are as dead, and each would cost an attempt.
                idle, self._idle = self._idle, []
            elif len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
            else:
                idle = [connection]
        for each in idle:
            each.close()

    def _open(self) -> Any:
        connection = self._kind.connect(
            self._place.url,
            autocommit=True,
            client_encoding="UTF8",
            fallback_application_name="cortext",
            connect_timeout=max(2, int(TIMEOUT / 2)),
            tcp_user_timeout=int(TIMEOUT * 1000),
        )
        connection.execute(
            f"set lock_timeout = {int(DEFAULT_WAIT * 1000)};"
            f"set idle_in_transaction_session_timeout = {_IDLE}"
        )
        return connection

    def _prepare(self, connection: Any) -> None:
        """The tables as this version of ours needs them."""
        if self._ready:
            return
        there = asked(connection, tables.IS_THERE)[0][0]
        found = asked(connection, tables.FOUND_VERSION)[0][0] if there else None
        if found is None:
            with connection.transaction():
                connection.execute(tables.LOCK)
                connection.execute(tables.MAKE)
        elif found > tables.VERSION:
            raise NewerVersionError(
                f"schema {tables.SCHEMA}", found=str(found), known=str(tables.VERSION)
            )
        self._ready = True


def _patient(psycopg: Any) -> Any:
    """Connections that wait for an answer, and not for ever: psycopg's own would, for a server that
    stands still."""

    class Patient(psycopg.Connection):
        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            limited = self._limited(gen, time.monotonic() + SILENCE)
            return psycopg.Connection.wait(self, limited, *args, **options)

        def _limited(self, gen: Any, deadline: float) -> Generator[Any, Any, Any]:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() >= deadline:
                        self.pgconn.finish()
                        raise psycopg.OperationalError("it says nothing")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Patient


def asked(connection: Any, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """The rows that answer a statement."""
    cursor = connection.execute(statement, values)
    return cursor.fetchall() if cursor.description else []
