"""The connections of the session store to PostgreSQL, opened when they are needed."""

from __future__ import annotations

import logging
import os
import re
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from cortext.durability.file_lock import DEFAULT_WAIT
from cortext.errors import NewerVersionError, SessionLockedError
from cortext.stores.servers import postgres_tables as tables
from cortext.stores.servers.postgres_timeouts import patient
from cortext.stores.servers.server_calls import (
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
_MOST_IDLE_CONNECTIONS = 16
_IDLE_TRANSACTION_MS = 30_000
"""Milliseconds after which the server ends a transaction whose client sends nothing more."""
_HINTS = {
    "42501": f"the user needs CREATE on the database, or the schema {tables.SCHEMA}",
    "53100": "free disk space on the server",
    "53200": "give the server more memory",
}
_TOO_MANY_CONNECTIONS = "53300"
_RESOURCE_ERRORS = ("53", "54")
"""The first two digits of the error codes for lacking resources and for too large requests."""
_PERMANENT_ERRORS = (
    (re.compile('database ".*" does not exist'), "create the database: createdb NAME"),
    (re.compile('role ".*" does not exist'), "check the user in the URL"),
    (re.compile("no password supplied"), "write the password in the URL: USER:PASSWORD@HOST"),
    (re.compile("authentication failed"), "check the user and the password in the URL"),
    (re.compile("pg_hba.conf"), "check the user in the URL and the server's pg_hba.conf"),
)
"""Errors while connecting that a retry cannot fix, each with the hint for the user.

These errors have no code, so they are recognized by their text.
"""


class PostgresAddress(msgspec.Struct, frozen=True):
    """The parsed URL of a PostgreSQL store.

    A space is a named part of the database with its own sessions. `space` has the names of the
    spaces in the URL. `url` is the URL without these names, for libpq (PostgreSQL's client
    library).
    """

    address: Address
    url: str
    space: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Place({self.address.shown})"


def place_of(url: str) -> PostgresAddress:
    """Parse the URL `postgresql://HOST/DATABASE` or `postgresql://HOST/DATABASE/SPACE/...`.

    ValueError is raised for an invalid URL, and InvalidIdError for an invalid name of a space.
    """
    address = address_of(url)
    database = quote("".join(address.steps[:1]), safe="")
    plain = address.url("postgresql", address.hosts, database)
    return PostgresAddress(address, plain, check_space(address.steps[1:]))


_pools: weakref.WeakValueDictionary[str, PostgresConnection] = weakref.WeakValueDictionary()
_pools_lock = threading.Lock()


def connection_pool_for(place: PostgresAddress) -> PostgresConnection:
    """Return the connection pool for a database. All stores of this process share the pool.

    A program may open a store for each conversation, but a server accepts only about a hundred
    clients.
    """
    with _pools_lock:
        pool = _pools.get(place.url)
        if pool is None:
            pool = _pools[place.url] = PostgresConnection(place)
        return pool


class PostgresConnection:
    """A pool of connections to a database. Threads and forked processes may share it."""

    def __init__(self, place: PostgresAddress) -> None:
        self._psycopg = needed("psycopg", "PostgreSQL", "postgres")
        self._kind = patient(self._psycopg)
        self._place = place
        try:
            self._psycopg.conninfo.conninfo_to_dict(place.url)
        except self._psycopg.Error as error:
            text = place.address.scrubbed(str(error))
            raise ValueError(f"not a PostgreSQL URL: {text}") from None
        self._idle: list[Any] = []
        self._inherited: list[Any] = []
        self._pid = os.getpid()
        self._ready = self._answered = False
        self._lock = threading.Lock()
        # A server that has become read-only is no longer the primary.
        self._lost_errors = (
            self._psycopg.OperationalError,
            self._psycopg.errors.ReadOnlySqlTransaction,
        )

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Execute an SQL statement with named `values` and return the rows of its result.

        If the connection is lost, the statement is executed again on a new connection. So it must
        be safe to repeat.
        """
        return self.work(lambda connection: asked(connection, statement, values))

    def work(self, work: Callable[[Any], T], where: str = "") -> T:
        """Call `work` with a connection and return its result.

        If the connection is lost, `work` is called again with a new connection. SessionStorageError
        is raised if the server does not answer in time. `where` is the name of the session for
        error messages.
        """

        def attempt() -> T:
            with self._connection() as connection:
                return work(connection)

        return self._until_answered(attempt, where)

    @contextmanager
    def locked(self, lock: str, unlock: str, values: Any, where: str) -> Generator[Any]:
        """Execute the SQL statement `lock` and yield the connection that then holds the lock.

        The statement `unlock` is executed at the end of the `with` block. If the connection breaks,
        the lock is lost. `values` are the values for both statements. `where` is the name of the
        session for error messages.
        """

        def take() -> Any:
            with self._connection(keep=True) as connection:
                asked(connection, lock, values)
                return connection

        connection, pid = self._until_answered(take, where), os.getpid()
        try:
            yield connection
        finally:
            if pid == os.getpid():
                self._unlock(connection, unlock, values)
            else:
                self._inherited.append(connection)

    def _unlock(self, connection: Any, unlock: str, values: Any) -> None:
        try:
            asked(connection, unlock, values)
        except self._psycopg.Error as error:
            log.info("a lock was released when its connection ended: %s", error)
            connection.close()
        except BaseException:
            connection.close()
            raise
        self._return_to_pool(connection)

    @contextmanager
    def told(self, where: str, *, lost: bool = False) -> Generator[None]:
        """Turn errors of psycopg in the `with` block into errors of cortext.

        The error of a lost connection is not changed, so that the caller can try again. If `lost`
        is True, this error also becomes an error of cortext. `where` is the name of the session for
        error messages.
        """
        try:
            yield
        except self._psycopg.errors.LockNotAvailable:
            raise SessionLockedError(
                where or self._place.address.shown, holder="another writer", waited=DEFAULT_WAIT
            ) from None
        except self._psycopg.Error as error:
            code, text = getattr(error, "sqlstate", None) or "", str(error)
            hint = _HINTS.get(code) or next(
                (h for words, h in _PERMANENT_ERRORS if words.search(text)), ""
            )
            is_permanent = hint or (
                code.startswith(_RESOURCE_ERRORS) and code != _TOO_MANY_CONNECTIONS
            )
            if isinstance(error, self._lost_errors) and not is_permanent and not lost:
                raise
            raise refused("PostgreSQL", self._place.address, error, hint) from None

    def _until_answered(self, attempt: Callable[[], T], where: str) -> T:
        def told() -> T:
            with self.told(where):
                return attempt()

        answer = until_answered(
            told,
            passing=self._lost_errors,
            no_answer=lambda error, waited: unanswered(
                "PostgreSQL", self._place.address, error, waited
            ),
            answered_before=self._answered,
        )
        self._answered = True
        return answer

    @contextmanager
    def _connection(self, *, keep: bool = False) -> Generator[Any]:
        """Yield a connection to the database. If the tables are missing, they are created first.

        The connection returns to the pool at the end of the `with` block. If `keep` is true, the
        caller must return it to the pool.
        """
        connection = self._take_idle() or self._open()
        try:
            self._prepare(connection)
            yield connection
        except BaseException:
            idle = connection.info.transaction_status == self._psycopg.pq.TransactionStatus.IDLE
            # Close a connection that may hold a lock: the lock ends with it.
            if not connection.closed and (keep or not idle):
                connection.close()
            else:
                self._return_to_pool(connection)
            raise
        if not keep:
            self._return_to_pool(connection)

    def close(self) -> None:
        with self._lock:
            self._leave_inherited()
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        if getattr(self, "_idle", None):
            self.close()

    def _leave_inherited(self) -> None:
        """Stop using the connections of the parent process, if this is a forked process.

        The connections are not closed, because that would close them in the parent process as well.
        """
        if self._pid != os.getpid():
            self._inherited += self._idle
            self._idle, self._pid = [], os.getpid()

    def _take_idle(self) -> Any:
        with self._lock:
            self._leave_inherited()
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return None

    def _return_to_pool(self, connection: Any) -> None:
        with self._lock:
            if connection.closed:
                # The idle connections are probably broken too, and each would cost an attempt.
                idle, self._idle = self._idle, []
            elif len(self._idle) < _MOST_IDLE_CONNECTIONS:
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
            f"set idle_in_transaction_session_timeout = {_IDLE_TRANSACTION_MS};"
            # Notice a dead client within seconds, not after two hours, so that its locks end.
            "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5;"
            "set tcp_keepalives_count = 3"
        )
        return connection

    def _prepare(self, connection: Any) -> None:
        """Create the tables if they are missing.

        NewerVersionError is raised if a later version of cortext created them.
        """
        if self._ready:
            return
        exists = asked(connection, tables.IS_THERE)[0][0]
        version = asked(connection, tables.STORED_VERSION)[0][0] if exists else None
        if version is None:
            with connection.transaction():
                connection.execute(tables.LOCK)
                connection.execute(tables.MAKE)
        elif version > tables.VERSION:
            raise NewerVersionError(
                f"schema {tables.SCHEMA}", found=str(version), known=str(tables.VERSION)
            )
        self._ready = True


def asked(connection: Any, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """Execute an SQL statement on `connection` and return the rows of its result.

    The list is empty for a statement that returns no rows.
    """
    cursor = connection.execute(statement, values)
    return cursor.fetchall() if cursor.description else []
