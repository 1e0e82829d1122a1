"""The connections of the conversation store to PostgreSQL. Every call ends within its time-out."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from cortext.errors import CortextError, NewerVersionError, SessionStorageError
from cortext.installation import install_command
from cortext.service.stores.postgres import conversation_sql as tables
from cortext.service.stores.postgres.postgres_errors import is_permanent, no_answer, refused
from cortext.service.stores.server_retries import check_timeout, until_answered
from cortext.service.stores.store_url_checks import check_ports, scrubbed, secrets_of

log: logging.Logger = logging.getLogger("cortext.conversations")
T = TypeVar("T")

MOST_CONNECTIONS = 16


class PostgresPool:
    """A pool of connections to a PostgreSQL database.

    `timeout` is the time-out of each call, in seconds.

    If a call loses its connection, it is repeated until the time-out. A statement may then be
    executed twice, so repeating a statement must do no harm.

    Before the first call, the tables in `schema` are created. If `with_ttl` is True, conversations
    expire, and an index for their expiry is created as well.
    """

    def __init__(self, url: str, *, timeout: float, schema: str, with_ttl: bool) -> None:
        self._psycopg = _import_psycopg()
        try:
            parameters = self._psycopg.conninfo.conninfo_to_dict(url)
        except self._psycopg.Error as error:
            message = scrubbed(str(error).strip(), secrets_of(url))
            raise ValueError(f"not a URL of PostgreSQL: {message}") from None
        self._server = _describe_server(parameters)
        self._secrets = secrets_of(url)
        # A read-only server is no longer the primary. A retry may reach the new primary.
        self._temporary_errors = (
            self._psycopg.OperationalError,
            self._psycopg.errors.ReadOnlySqlTransaction,
        )
        self._url = url
        self.timeout: float = check_timeout(timeout)
        self._schema = schema
        self._with_ttl = with_ttl
        self._idle: list[Any] = []
        self._call_slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._ready = False
        self._migration_lock = asyncio.Lock()
        self._cancelled_tasks: set[asyncio.Task[Any]] = set()

    def connect(self) -> None:
        """Prepare the pool for the running event loop, without a call to the server.

        The connections of an earlier event loop are closed.
        """
        for connection in self._idle:
            connection.pgconn.finish()
        self._idle.clear()
        self._call_slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._migration_lock = asyncio.Lock()
        self._cancelled_tasks.clear()

    async def aclose(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()
        if self._cancelled_tasks:
            await asyncio.wait(self._cancelled_tasks)

    async def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Execute an SQL statement, and return the rows of the result.

        `values` are the values of the named parameters in the statement.
        """

        async def ask(connection: Any) -> list[tuple[Any, ...]]:
            return await (await connection.execute(statement, values, prepare=True)).fetchall()

        return await self._until_answered(lambda: self._with_connection(ask))

    async def listener(self, statement: str) -> Any:
        """Open a separate connection for notifications, and return it. The caller must close it.

        `statement` is the LISTEN statement to execute on the connection.
        """

        async def begin() -> Any:
            connection = await self._open()
            try:
                await self._run_cancellable(connection, connection.execute(statement))
            except BaseException:
                connection.pgconn.finish()
                raise
            return connection

        return await self._until_answered(begin)

    async def is_well(self, connection: Any) -> bool:
        """Return whether the server still answers on this connection."""
        try:
            async with asyncio.timeout(self.timeout):
                await self._run_cancellable(connection, connection.execute("select 1"))
        except (TimeoutError, self._psycopg.Error):
            return False
        return True

    def no_answer(self, error: Exception) -> SessionStorageError:
        """Return the exception for a call that the server did not answer in time.

        `error` is the error of the last attempt.
        """
        return no_answer(error, self._server, self.timeout, self._secrets)

    async def _until_answered(self, work: Callable[[], Awaitable[T]]) -> T:
        async def attempt(lost: Exception | None) -> T:
            try:
                async with self._call_slots:
                    await self._ensure_tables()
                    return await work()
            except self._psycopg.Error as error:
                if isinstance(error, self._temporary_errors) and not is_permanent(error):
                    raise
                raise refused(error, self._server, self._secrets) from None

        return await until_answered(
            attempt, within=self.timeout, passing=self._temporary_errors, no_answer=self.no_answer
        )

    async def _with_connection(self, work: Callable[[Any], Awaitable[T]]) -> T:
        connection = self._idle.pop() if self._idle else await self._open()
        try:
            answer = await self._run_cancellable(connection, work(connection))
        except self._temporary_errors:
            # The idle connections are probably broken too, and each would cost an attempt.
            idle, self._idle = [*self._idle, connection], []
            for each in idle:
                each.pgconn.finish()
            raise
        except self._psycopg.Error:
            self._idle.append(connection)
            raise
        except CortextError:
            connection.pgconn.finish()
            raise
        self._idle.append(connection)
        return answer

    async def _run_cancellable(self, connection: Any, work: Awaitable[T]) -> T:
        """Await `work`, which uses `connection`. If the caller is cancelled, cut the connection.

        If the connection were not cut, psycopg would wait until the server has cancelled the
        statement.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            _shut_down_socket(connection)
            self._cancelled_tasks.add(task)
            task.add_done_callback(lambda done: self._finish_cancelled(connection, done))
            raise

    def _finish_cancelled(self, connection: Any, task: asyncio.Task[Any]) -> None:
        self._cancelled_tasks.discard(task)
        connection.pgconn.finish()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a cancelled call ended with: %s", error)

    async def _open(self) -> Any:
        return await self._psycopg.AsyncConnection.connect(
            self._url, autocommit=True, client_encoding="UTF8", fallback_application_name="cortext"
        )

    async def _ensure_tables(self) -> None:
        """Create the tables before the first call, or upgrade them to this version of cortext."""
        if self._ready:
            return
        async with self._migration_lock:
            if not self._ready:
                await self._with_connection(self._migrate)
                self._ready = True

    async def _migrate(self, connection: Any) -> None:
        values = {"schema": self._schema}

        async def ask(statement: str, **more_values: Any) -> Any:
            text = statement.replace("{schema}", self._schema)
            cursor = await connection.execute(
                text, {**values, **more_values} if "%(" in text else None
            )
            return (await cursor.fetchone())[0] if cursor.description else None

        if not await ask(tables.IS_THERE) or await ask(tables.VERSION) < len(tables.MIGRATIONS):
            async with connection.transaction():
                await ask(tables.LOCK)
                await ask(tables.BEGIN)
                for number in range(await ask(tables.VERSION), len(tables.MIGRATIONS)):
                    await ask(tables.MIGRATIONS[number])
                    await ask(tables.SET_VERSION, number=number + 1)
                    log.info("schema %s has version %d of the tables", self._schema, number + 1)
        version = await ask(tables.VERSION)
        if version > len(tables.MIGRATIONS):
            known = str(len(tables.MIGRATIONS))
            raise NewerVersionError(f"schema {self._schema}", found=str(version), known=known)
        if self._with_ttl:
            async with connection.transaction():
                await ask(tables.LOCK)
                await ask(tables.TTL_INDEX)


def _describe_server(parameters: dict[str, Any]) -> str:
    """Return `HOST:PORT/DATABASE` for messages. ValueError is raised if a port is invalid.

    `parameters` are the connection parameters of libpq, the client library of PostgreSQL.
    """
    host, port = parameters.get("host") or "its socket", parameters.get("port") or 5432
    database = parameters.get("dbname") or ""
    check_ports("PostgreSQL", [f":{each}" for each in str(port).split(",")], database)
    return f"{host}:{port}/{database}"


def _shut_down_socket(connection: Any) -> None:
    """Shut down the socket of a connection. A task that waits for data then gets an error."""
    try:
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as connection_socket:
            connection_socket.shutdown(socket.SHUT_RDWR)
    except Exception as error:  # noqa: BLE001  already closed: psycopg has many errors for that
        log.debug("a connection could not be closed: %s", error)


def _import_psycopg() -> Any:
    from importlib import import_module

    try:
        import_module("psycopg.conninfo")
        return import_module("psycopg")
    except ImportError:
        raise CortextError(
            "conversations in PostgreSQL need the package psycopg",
            hint=f"install it with `{install_command('postgres')}`",
        ) from None
