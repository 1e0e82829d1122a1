"""The way to Redis: every call has an answer or a clear error within its time-out."""

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
    """What was written is on the server, and on fewer replicas than were asked for. It stays
    there unless it was `undone`."""

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
    """A client of redis-py, ours by its URL or somebody's own, and its time-out in seconds.

    A call that lost its connection is tried again until the time-out, so it may reach the
    server twice: what is sent has to bear that. With `replicas`, writes wait for so many.
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
        """Have a client for the running loop; nothing is sent yet."""
        # Before the pool, not in it: one that makes callers wait costs a third of a round trip.
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
        """How often something was sent, of all calls: between two that are equal nothing was."""
        return self._way.sent if self._way else 0

    async def call(self, name: str, key: Any, *arguments: Any) -> Any:
        """The answer to a command that is about a key."""

        async def work(way: Way) -> Any:
            answers = await way.exchange(key, (name, key, *arguments))
            return (await self._checked(way, [key], answers))[0]

        return await self._until_answered(work)

    async def each(self, commands: Sequence[Command], *, key_at: int = 1) -> list[Any]:
        """Send many commands that `call` would take at once, and return their answers. `key_at` is
        the place of the key among the words of a command."""

        async def work(way: Way) -> list[Any]:
            answers = await way.each(commands, key_at)
            for command, answer in zip(commands, answers, strict=True):
                await self._checked(way, [command[key_at]], [answer])
            return answers

        return await self._until_answered(work)

    async def run(
        self, script: ConversationScript, keys: Sequence[str | bytes], *arguments: Any
    ) -> Any:
        """The answer of a script."""
        return (await self._run(script, keys, arguments))[0]

    async def write(self, script: ConversationScript, keys: Sequence[str], *arguments: Any) -> Any:
        """As `run`, for what is to be on the replicas too; ReplicationError if it is not."""
        if not self._replicas:
            return (await self._run(script, keys, arguments))[0]
        # On the same connection: WAIT waits for what that has written. Less than the half of an
        # attempt, for a server that has to be told the script is waited for twice.
        wait = ("WAIT", self._replicas, int(self.timeout / 5 * 1000))
        answer, have = await self._run(script, keys, arguments, wait)
        if have < self._replicas:
            raise ReplicationError(have, self._replicas)
        return answer

    async def listener(self, lost: Exception | None = None) -> Any:
        """A connection of its own to hear events on, to a server that answers. `lost` is what
        ended an earlier one."""

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
        secure = self._place is not None and self._place.secure
        """That the time is over, after this."""
        return no_answer(last, self._where, self.timeout, self._secrets, secure=secure)

    async def _attempt(self, work: Callable[[Way], Awaitable[Any]], lost: Exception | None) -> Any:
        """One attempt, after `lost`. What will not be better the next time is our error."""
        errors, way = self._redis.exceptions, self._way
        if way is None:
            raise CortextError("this conversation store was closed in the middle of a call")
        # A client with a time-out of its own may swallow a cancellation, in Python 3.11.
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        try:
            if lost is not None:
                await way.mend(lost)
            answer = await work(way)
        except errors.RedisClusterException as error:
            # One that tells of another: of the node that was asked last.
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
        """What the server has against a call."""
        return refused(error, self._where, self._secrets)

    async def _checked(self, way: Way, keys: Sequence[Any], answers: list[Any]) -> list[Any]:
        """The answers, unless one is an error. The server does not say which key has a value of
        another kind, so it is asked."""
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
    """What may be over soon: a lost connection, a failover, a slot on its way."""
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
