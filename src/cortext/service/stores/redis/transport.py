"""How commands get to a Redis server and answers back: to one server, or into a cluster.

Below the methods of redis-py that would try again, measure and translate by themselves, for each
of them costs; its connections, their pools and its knowledge of a cluster are what is used.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

Command = Sequence[Any]


class Way(ABC):
    """Sends commands that belong to one key. Errors are redis-py's."""

    def __init__(self, redis: Any, client: Any) -> None:
        self._redis = redis
        self._client = client
        self.sent: int = 0
        """How often something was sent: what failed before that was not done."""

    @abstractmethod
    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        """The answers, in one round trip over one connection; errors that the server answered
        are among them."""

    @abstractmethod
    async def mend(self, error: Exception) -> None:
        """Called before another attempt, with what went wrong at the last one."""

    @abstractmethod
    async def listener(self) -> Any:
        """A connection of its own to hear events on. It is not connected yet."""

    @abstractmethod
    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        """Return the answers to commands that may be about different keys. `key_at` is the place
        of the key among the words of a command."""

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _talk(self, connection: Any, commands: Sequence[Command]) -> list[Any]:
        if not connection.is_connected:
            await connection.connect()
        self.sent += 1
        await connection.send_packed_command(b"".join(map(packed, commands)))
        answers: list[Any] = []
        for _ in commands:
            try:
                answers.append(await connection.read_response(disable_decoding=True))
            except self._redis.exceptions.ResponseError as error:
                answers.append(error)
        return answers


class ToServer(Way):
    """One server, or the master that sentinels name: a pool knows."""

    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        pool = self._client.connection_pool
        connection = await pool.get_connection()
        try:
            return await self._talk(connection, commands)
        finally:
            await pool.release(connection)

    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        return await self.exchange("", *commands) if commands else []

    async def mend(self, error: Exception) -> None:
        """A pool looks at its connections by itself."""

    async def listener(self) -> Any:
        return self._client.connection_pool.make_connection()

    async def aclose(self) -> None:
        await self._client.aclose()
        manager = getattr(self._client.connection_pool, "sentinel_manager", None)
        for sentinel in getattr(manager, "sentinels", ()):
            await sentinel.aclose()


class IntoCluster(Way):
    """The node that has a key's slot, by what the nodes said last."""

    def __init__(self, redis: Any, client: Any) -> None:
        super().__init__(redis, client)
        self._learned = 0
        self._learning = asyncio.Lock()
        self._listens_at = ""

    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        if not self._learned:
            await self._learn()
        errors, node = self._redis.exceptions, self._client.get_node_from_key(key)
        answers = await self._at(node, commands)
        found = answers[0]
        if isinstance(found, errors.AskError) and not isinstance(found, errors.MovedError):
            # On its way to another node, which has to be asked for it by this word.
            node = self._client.get_node(host=found.host, port=found.port)
            if node is None:
                raise found
            answers = (await self._at(node, [("ASKING",), *commands]))[1:]
            found = answers[0]
        if isinstance(found, (errors.AskError, errors.ClusterDownError, errors.TryAgainError)):
            raise found
        return answers

    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        found = await asyncio.gather(*(self.exchange(words[key_at], words) for words in commands))
        return [answers[0] for answers in found]

    async def mend(self, error: Exception) -> None:
        """Whatever it was, the slots may be elsewhere now."""
        await self._learn()

    async def listener(self) -> Any:
        """Any node hears what is published at any other, so it is another one than the last time:
        that one may be gone, or stand still."""
        if not self._learned:
            await self._learn()
        masters = self._client.get_primaries()
        others = [node for node in masters if node.name != self._listens_at] or masters
        if not others:
            raise self._redis.exceptions.ClusterError("no node of the cluster is known")
        node = random.choice(others)  # noqa: S311  no secret
        self._listens_at = node.name
        never = self._redis.asyncio.retry.Retry(self._redis.backoff.NoBackoff(), 0)
        return node.connection_class(**{**node.connection_kwargs, "retry": never})

    async def aclose(self) -> None:
        await self._client.aclose()
        # The client takes itself for closed when only its nodes were used.
        for nodes in ("nodes_cache", "startup_nodes"):
            await self._client.nodes_manager.aclose(nodes)
        self._learned = 0

    async def _at(self, node: Any, commands: Sequence[Command]) -> list[Any]:
        connection = node.acquire_connection()
        try:
            return await self._talk(connection, commands)
        except (self._redis.exceptions.ConnectionError, self._redis.exceptions.TimeoutError):
            # The others that lie idle are as dead, and each would cost an attempt.
            await getattr(node, "disconnect_free_connections", node.disconnect)()
            raise
        finally:
            node.release(connection)

    async def _learn(self) -> None:
        """Who has which slots; those who want to know at the same time ask once."""
        before = self._learned
        async with self._learning:
            if self._learned == before:
                await self._client.nodes_manager.initialize()
                self._learned += 1


def packed(words: Command) -> bytes:
    """A command as Redis reads it. redis-py's own way takes an eighth of a round trip."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if type(word) is bytes else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)
