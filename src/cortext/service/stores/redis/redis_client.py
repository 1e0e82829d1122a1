"""The Redis client of the conversation store. Every call ends within its time-out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from cortext.errors import CortextError, SessionStorageError
from cortext.installation import install_command
from cortext.service.stores.redis.conversation_lua_scripts import ConversationScript
from cortext.service.stores.redis.redis_address import open_client, parse
from cortext.service.stores.redis.redis_command_routing import (
    ClusterTransport,
    Command,
    RedisTransport,
    SingleServerTransport,
)
from cortext.service.stores.redis.redis_errors import (
    is_permanent,
    is_wrong_type,
    no_answer,
    refused,
    wrong_type,
)
from cortext.service.stores.server_retries import check_timeout, until_answered

MOST_CONNECTIONS = 64


class ReplicationError(SessionStorageError):
    """Raised if a change reached the Redis server, but too few of its replicas.

    `have` is the number of replicas that have the change, and `wanted` is the required number
    (`wait_replicas`). The change stays on the server unless `undone` is True.
    """

    def __init__(self, have: int, wanted: int, *, undone: bool = False) -> None:
        self.have = have
        self.wanted = wanted
        few = f"only {have} of {wanted} replicas have the change"
        super().__init__(
            f"{few}, so the change was undone" if undone else f"stored, but {few}",
            hint="try again when the replicas are back"
            if undone
            else "repeat the call; it stores nothing twice and waits for the replicas again",
        )


class RedisClient:
    """A client that sends commands to Redis.

    `url_or_client` is a URL or a redis-py client. `timeout` is the time-out of each call, in
    seconds. If a call loses its connection, it is repeated until the time-out. A command may then
    be executed twice, so repeating a command must do no harm.

    The method `write` waits until `replicas` replicas have the change.
    """

    def __init__(self, url_or_client: Any, *, timeout: float, replicas: int) -> None:
        self._redis = _import_redis()
        self._temporary_errors = _temporary_errors(self._redis.exceptions)
        self.timeout: float = check_timeout(timeout)
        if type(replicas) is not int or replicas < 0:
            raise ValueError(f"wait_replicas must be a whole number from 0, not {replicas!r:.60}")
        self._replicas = replicas
        self._caller_client = None if isinstance(url_or_client, str) else url_or_client
        self._address = parse(self._redis, url_or_client) if self._caller_client is None else None
        self._server = (
            self._address.shown if self._address else _describe_server(self._caller_client)
        )
        self._secrets = self._address.secrets if self._address else []
        self._transport: RedisTransport | None = None
        self._call_slots = asyncio.Semaphore(MOST_CONNECTIONS)

    def connect(self) -> None:
        """Prepare the client for the running event loop, without a call to the server."""
        # Limit the calls here: if the pool limited them, a call would take a third longer.
        self._call_slots = asyncio.Semaphore(MOST_CONNECTIONS)
        redis, client = self._redis, self._caller_client
        if self._address is not None:
            client = open_client(redis, self._address, self.timeout)
        self._transport = (
            ClusterTransport if hasattr(client, "nodes_manager") else SingleServerTransport
        )(redis, client)

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None and self._caller_client is None:
            await transport.aclose()

    @property
    def sent(self) -> int:
        """How many times commands were sent to the server.

        If a call fails and this number has not changed, the call had no effect.
        """
        return self._transport.sent if self._transport else 0

    async def call(self, name: str, key: Any, *arguments: Any) -> Any:
        """Send the command `name` with a key and arguments, and return the answer."""

        async def work(transport: RedisTransport) -> Any:
            answers = await transport.exchange(key, (name, key, *arguments))
            return (await self._check_answers(transport, [key], answers))[0]

        return await self._until_answered(work)

    async def each(self, commands: Sequence[Command], *, key_at: int = 1) -> list[Any]:
        """Send several commands together, and return their answers.

        Each command is a sequence of words. The word at the index `key_at` is the key. If a command
        fails, its error is raised.
        """

        async def work(transport: RedisTransport) -> list[Any]:
            answers = await transport.each(commands, key_at)
            for command, answer in zip(commands, answers, strict=True):
                await self._check_answers(transport, [command[key_at]], [answer])
            return answers

        return await self._until_answered(work)

    async def run(
        self, script: ConversationScript, keys: Sequence[str | bytes], *arguments: Any
    ) -> Any:
        """Run a Lua script on the server with these keys and arguments, and return the answer."""
        return (await self._run(script, keys, arguments))[0]

    async def write(self, script: ConversationScript, keys: Sequence[str], *arguments: Any) -> Any:
        """Run a Lua script that changes data, wait for the replicas, and return the answer.

        ReplicationError is raised if too few replicas have the change in time.
        """
        if not self._replicas:
            return (await self._run(script, keys, arguments))[0]
        # WAIT must be on the same connection, because it waits for the writes of that connection.
        # It gets less than half of an attempt: if the server does not know the script yet, WAIT is
        # sent twice.
        wait = ("WAIT", self._replicas, int(self.timeout / 5 * 1000))
        answer, have = await self._run(script, keys, arguments, wait)
        if have < self._replicas:
            raise ReplicationError(have, self._replicas)
        return answer

    async def listener(self, lost: Exception | None = None) -> Any:
        """Open a separate connection for events, and return it. The caller must close it.

        `lost` is the error that ended the previous connection for events, or None.
        """

        async def work(transport: RedisTransport) -> Any:
            connection = await transport.listener()
            try:
                await connection.connect()
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            return connection

        return await self._until_answered(work, lost)

    async def _run(
        self,
        script: ConversationScript,
        keys: Sequence[str | bytes],
        arguments: Sequence[Any],
        *then: Command,
    ) -> list[Any]:
        words = (len(keys), *keys, *arguments)

        async def work(transport: RedisTransport) -> list[Any]:
            answers = await transport.exchange(keys[0], ("EVALSHA", script.sha, *words), *then)
            if isinstance(answers[0], self._redis.exceptions.NoScriptError):
                answers = await transport.exchange(keys[0], ("EVAL", script.text, *words), *then)
            return await self._check_answers(transport, keys, answers)

        return await self._until_answered(work)

    async def _until_answered(
        self, work: Callable[[RedisTransport], Awaitable[Any]], lost: Exception | None = None
    ) -> Any:
        async def attempt(lost: Exception | None) -> Any:
            async with self._call_slots:
                return await self._attempt(work, lost)

        return await until_answered(
            attempt,
            within=self.timeout,
            passing=self._temporary_errors,
            no_answer=self.no_answer,
            lost=lost,
        )

    def no_answer(self, last: Exception) -> SessionStorageError:
        """Return the exception for a call that the server did not answer in time.

        `last` is the error of the last attempt.
        """
        secure = self._address is not None and self._address.secure
        return no_answer(last, self._server, self.timeout, self._secrets, secure=secure)

    async def _attempt(
        self, work: Callable[[RedisTransport], Awaitable[Any]], lost: Exception | None
    ) -> Any:
        """Call `work` once. `lost` is the error of the previous attempt, or None.

        If a retry cannot help, SessionStorageError is raised. If a retry may help, the error of
        redis-py is raised, and the caller tries again.
        """
        errors, transport = self._redis.exceptions, self._transport
        if transport is None:
            raise CortextError("this conversation store was closed during a call")
        # In Python 3.11, a client with its own time-out may swallow a cancellation.
        task = asyncio.current_task()
        cancellations = task.cancelling() if task else 0
        try:
            if lost is not None:
                await transport.mend(lost)
            answer = await work(transport)
        except errors.RedisClusterException as error:
            # This error may wrap the error of the node that was tried last.
            cause = error.__cause__
            if cause is not None and (type(cause) is type(error) or is_permanent(cause)):
                raise self.refused(cause) from None
            raise
        except errors.RedisError as error:
            if is_permanent(error) or not isinstance(error, self._temporary_errors):
                raise self.refused(error) from None
            raise
        if task and task.cancelling() > cancellations:
            raise asyncio.CancelledError
        return answer

    def refused(self, error: BaseException) -> SessionStorageError:
        """Return the exception for a call that the server answered with `error`."""
        return refused(error, self._server, self._secrets)

    async def _check_answers(
        self, transport: RedisTransport, keys: Sequence[Any], answers: list[Any]
    ) -> list[Any]:
        """Return the answers of the server, or raise the first error among them.

        If one of the `keys` has a value of the wrong type, the raised error names this key.
        """
        for answer in answers:
            if not isinstance(answer, Exception):
                continue
            if not is_wrong_type(answer):
                raise answer
            names = [_decode_text(key) for key in keys]
            kinds = await transport.exchange(keys[0], *(("TYPE", key) for key in keys))
            raise wrong_type(self._server, [*zip(names, map(_decode_text, kinds), strict=True)])
        return answers


def _temporary_errors(errors: Any) -> tuple[type[Exception], ...]:
    """Return the error classes of redis-py for temporary problems, such as a lost connection.

    `errors` is the module `redis.exceptions`.
    """
    return (
        errors.ConnectionError,
        errors.TimeoutError,
        errors.ReadOnlyError,
        errors.ClusterError,
        errors.RedisClusterException,
        errors.AskError,
        errors.TryAgainError,
    )


def _decode_text(word: Any) -> str:
    return word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word)


def _describe_server(client: Any) -> str:
    pool = getattr(client, "connection_pool", None)
    options: dict[str, Any] = getattr(pool, "connection_kwargs", {})
    return options.get("path") or f"{options.get('host', 'its')}:{options.get('port', 6379)}"


def _import_redis() -> Any:
    from importlib import import_module

    try:
        for name in ("redis.asyncio.retry", "redis.backoff"):
            import_module(name)
        return import_module("redis")
    except ImportError:
        raise CortextError(
            "conversations on a Redis server need the package redis",
            hint=f"install it with `{install_command('redis')}`",
        ) from None
