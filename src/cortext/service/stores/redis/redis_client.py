"""The Redis client of the conversation store: every call ends within its time-out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from cortext.errors import CortextError, SessionStorageError
from cortext.installation import install_command
from cortext.service.stores.redis.address import open_client, parse
from cortext.service.stores.redis.conversation_scripts import ConversationScript
from cortext.service.stores.redis.redis_errors import (
    is_wrong_type,
    no_answer,
    refused,
    will_stay,
    wrong_type,
)
from cortext.service.stores.redis.transport import Command, IntoCluster, ToServer, Way
from cortext.service.stores.server_retries import check_timeout, until_answered

MOST_CONNECTIONS = 64


class ReplicationError(SessionStorageError):
    """The error for a write that reached the server, but fewer replicas than `wait_replicas`.

    `have` of `wanted` replicas have the write. The write stays on the server unless `undone`.
    """

    def __init__(self, have: int, wanted: int, *, undone: bool = False) -> None:
        self.have = have
        self.wanted = wanted
        few = f"only {have} of {wanted} replicas have it"
        super().__init__(
            f"{few}, so it is taken back" if undone else f"stored, but {few}",
            hint="try again when the replicas are back"
            if undone
            else "repeat the call: it stores nothing twice and waits for the replicas again",
        )


class RedisClient:
    """Calls to Redis with a time-out in seconds and retries.

    `url_or_client` is a URL, or a redis-py client of the caller. A call that loses its connection
    is repeated until the time-out. So a request may reach the server twice and must be safe to
    repeat. Each `write` waits until `replicas` replicas have it.
    """

    def __init__(self, url_or_client: Any, *, timeout: float, replicas: int) -> None:
        self._redis = _import()
        self._passing = _passing(self._redis.exceptions)
        self.timeout: float = check_timeout(timeout)
        if type(replicas) is not int or replicas < 0:
            raise ValueError(f"wait_replicas is a whole number from 0, not {replicas!r:.60}")
        self._replicas = replicas
        self._given = None if isinstance(url_or_client, str) else url_or_client
        self._place = parse(self._redis, url_or_client) if self._given is None else None
        self._where = self._place.shown if self._place else _where(self._given)
        self._secrets = self._place.secrets if self._place else []
        self._way: Way | None = None
        self._turns = asyncio.Semaphore(MOST_CONNECTIONS)

    def connect(self) -> None:
        """Prepare the client for the running event loop. Nothing is sent yet."""
        # Limit calls before the pool: a pool that makes callers wait costs a third of a round trip.
        self._turns = asyncio.Semaphore(MOST_CONNECTIONS)
        redis, client = self._redis, self._given
        if self._place is not None:
            client = open_client(redis, self._place, self.timeout)
        self._way = (IntoCluster if hasattr(client, "nodes_manager") else ToServer)(redis, client)

    async def aclose(self) -> None:
        way, self._way = self._way, None
        if way is not None and self._given is None:
            await way.aclose()

    @property
    def sent(self) -> int:
        """How often commands were sent. If a failed call did not change this, it had no effect."""
        return self._way.sent if self._way else 0

    async def call(self, name: str, key: Any, *arguments: Any) -> Any:
        """Send the command `name` with a key and arguments, and return its answer."""

        async def work(way: Way) -> Any:
            answers = await way.exchange(key, (name, key, *arguments))
            return (await self._checked(way, [key], answers))[0]

        return await self._until_answered(work)

    async def each(self, commands: Sequence[Command], *, key_at: int = 1) -> list[Any]:
        """Send many commands at once and return their answers.

        A command is a sequence of words, and `key_at` is the index of the key in it. If a command
        fails, its error is raised.
        """

        async def work(way: Way) -> list[Any]:
            answers = await way.each(commands, key_at)
            for command, answer in zip(commands, answers, strict=True):
                await self._checked(way, [command[key_at]], [answer])
            return answers

        return await self._until_answered(work)

    async def run(
        self, script: ConversationScript, keys: Sequence[str | bytes], *arguments: Any
    ) -> Any:
        """Run a Lua script on the server with these keys and arguments, and return its answer."""
        return (await self._run(script, keys, arguments))[0]

    async def write(self, script: ConversationScript, keys: Sequence[str], *arguments: Any) -> Any:
        """Run a Lua script that writes, wait for the replicas, and return the script's answer.

        ReplicationError is raised if too few replicas have the write in time.
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
        """Open a separate connection for events. The caller closes it.

        `lost` is the error that ended an earlier connection, or None.
        """

        async def work(way: Way) -> Any:
            connection = await way.listener()
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

        async def work(way: Way) -> list[Any]:
            found = await way.exchange(keys[0], ("EVALSHA", script.sha, *words), *then)
            if isinstance(found[0], self._redis.exceptions.NoScriptError):
                found = await way.exchange(keys[0], ("EVAL", script.text, *words), *then)
            return await self._checked(way, keys, found)

        return await self._until_answered(work)

    async def _until_answered(
        self, work: Callable[[Way], Awaitable[Any]], lost: Exception | None = None
    ) -> Any:
        async def attempt(lost: Exception | None) -> Any:
            async with self._turns:
                return await self._attempt(work, lost)

        return await until_answered(
            attempt,
            within=self.timeout,
            passing=self._passing,
            no_answer=self.no_answer,
            lost=lost,
        )

    def no_answer(self, last: Exception) -> SessionStorageError:
        """Return the error to raise if the server did not answer in time.

        `last` is the error of the last attempt.
        """
        secure = self._place is not None and self._place.secure
        return no_answer(last, self._where, self.timeout, self._secrets, secure=secure)

    async def _attempt(self, work: Callable[[Way], Awaitable[Any]], lost: Exception | None) -> Any:
        """Call `work` once. `lost` is the error of the previous attempt, or None.

        An error that a retry cannot fix is raised as SessionStorageError. Other errors of redis-py
        are raised unchanged, so that the caller tries again.
        """
        errors, way = self._redis.exceptions, self._way
        if way is None:
            raise CortextError("this conversation store was closed in the middle of a call")
        # In Python 3.11, a client with its own time-out may swallow a cancellation.
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        try:
            if lost is not None:
                await way.mend(lost)
            answer = await work(way)
        except errors.RedisClusterException as error:
            # This error may wrap the error of the node that was tried last.
            told = error.__cause__
            if told is not None and (type(told) is type(error) or will_stay(told)):
                raise self.refused(told) from None
            raise
        except errors.RedisError as error:
            if will_stay(error) or not isinstance(error, self._passing):
                raise self.refused(error) from None
            raise
        if task and task.cancelling() > before:
            raise asyncio.CancelledError
        return answer

    def refused(self, error: BaseException) -> SessionStorageError:
        """Return the error to raise if the server answered a call with `error`."""
        return refused(error, self._where, self._secrets)

    async def _checked(self, way: Way, keys: Sequence[Any], answers: list[Any]) -> list[Any]:
        """Return the answers of the server, or raise the first error among them.

        If one of `keys` has a value of the wrong type, the raised error names that key.
        """
        for answer in answers:
            if not isinstance(answer, Exception):
                continue
            if not is_wrong_type(answer):
                raise answer
            names = [_text(key) for key in keys]
            kinds = await way.exchange(keys[0], *(("TYPE", key) for key in keys))
            raise wrong_type(self._where, [*zip(names, map(_text, kinds), strict=True)])
        return answers


def _passing(errors: Any) -> tuple[type[Exception], ...]:
    """Return the error classes of redis-py for problems that may end soon.

    Examples are a lost connection, a failover, or a slot that is being moved.
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


def _text(word: Any) -> str:
    return word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word)


def _where(client: Any) -> str:
    pool = getattr(client, "connection_pool", None)
    place: dict[str, Any] = getattr(pool, "connection_kwargs", {})
    return place.get("path") or f"{place.get('host', 'its')}:{place.get('port', 6379)}"


def _import() -> Any:
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
