"""Send commands to a single Redis server, or to the right node of a cluster.

This module uses the connections, pools and cluster map of redis-py, but not its command methods.
The command methods are slower, because they also handle retries, metrics and conversions.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

Command = Sequence[Any]


class RedisTransport(ABC):
    """A way to send commands to Redis. Each subclass chooses the server for a command.

    The methods raise the errors of redis-py.
    """

    def __init__(self, redis: Any, client: Any) -> None:
        self._redis = redis
        self._client = client
        self.sent: int = 0
        """How many times commands were sent to the server.

        If a call fails and this number has not changed, the call had no effect.
        """

    @abstractmethod
    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        """Send commands to the server that has `key`, in one round trip, and return the answers.

        If the server answers a command with an error, the error is in the list of answers as an
        exception.
        """

    @abstractmethod
    async def mend(self, error: Exception) -> None:
        """Prepare the next attempt after the previous attempt has failed with `error`."""

    @abstractmethod
    async def listener(self) -> Any:
        """Return a separate connection for events. The caller must connect and close it."""

    @abstractmethod
    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        """Send commands that may have different keys, and return their answers.

        The word at the index `key_at` of a command is its key.
        """

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _send_on(self, connection: Any, commands: Sequence[Command]) -> list[Any]:
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


class SingleServerTransport(RedisTransport):
    """Sends commands to a single server, or to the master that Redis Sentinel names."""

    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        pool = self._client.connection_pool
        connection = await pool.get_connection()
        try:
            return await self._send_on(connection, commands)
        finally:
            await pool.release(connection)

    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        return await self.exchange("", *commands) if commands else []

    async def mend(self, error: Exception) -> None:
        """Do nothing, because redis-py itself replaces broken connections."""

    async def listener(self) -> Any:
        return self._client.connection_pool.make_connection()

    async def aclose(self) -> None:
        await self._client.aclose()
        manager = getattr(self._client.connection_pool, "sentinel_manager", None)
        for sentinel in getattr(manager, "sentinels", ()):
            await sentinel.aclose()


class ClusterTransport(RedisTransport):
    """Sends each command to the node of the cluster that has the command's key."""

    def __init__(self, redis: Any, client: Any) -> None:
        super().__init__(redis, client)
        self._map_version = 0
        self._map_lock = asyncio.Lock()
        self._listener_node = ""

    async def exchange(self, key: Any, *commands: Command) -> list[Any]:
        if not self._map_version:
            await self._load_map()
        errors, node = self._redis.exceptions, self._client.get_node_from_key(key)
        answers = await self._send_to_node(node, commands)
        first = answers[0]
        if isinstance(first, errors.AskError) and not isinstance(first, errors.MovedError):
            # The slot is being moved to another node, which answers only after ASKING.
            node = self._client.get_node(host=first.host, port=first.port)
            if node is None:
                raise first
            answers = (await self._send_to_node(node, [("ASKING",), *commands]))[1:]
            first = answers[0]
        if isinstance(first, (errors.AskError, errors.ClusterDownError, errors.TryAgainError)):
            raise first
        return answers

    async def each(self, commands: Sequence[Command], key_at: int) -> list[Any]:
        answer_lists = await asyncio.gather(
            *(self.exchange(words[key_at], words) for words in commands)
        )
        return [answers[0] for answers in answer_lists]

    async def mend(self, error: Exception) -> None:
        """Load the map of slots and nodes again, because slots may have moved to other nodes."""
        await self._load_map()

    async def listener(self) -> Any:
        """Return a connection to a random node of the cluster, for events.

        Any node can be used, because each node receives the events of all nodes. The node that the
        previous call has chosen is avoided if possible, because it may be down or may hang.
        """
        if not self._map_version:
            await self._load_map()
        masters = self._client.get_primaries()
        others = [node for node in masters if node.name != self._listener_node] or masters
        if not others:
            raise self._redis.exceptions.ClusterError("no node of the cluster is known")
        node = random.choice(others)  # noqa: S311  no secret
        self._listener_node = node.name
        no_retry = self._redis.asyncio.retry.Retry(self._redis.backoff.NoBackoff(), 0)
        return node.connection_class(**{**node.connection_kwargs, "retry": no_retry})

    async def aclose(self) -> None:
        await self._client.aclose()
        # The client does not close its nodes if only the nodes were used, not the client itself.
        for nodes in ("nodes_cache", "startup_nodes"):
            await self._client.nodes_manager.aclose(nodes)
        self._map_version = 0

    async def _send_to_node(self, node: Any, commands: Sequence[Command]) -> list[Any]:
        connection = node.acquire_connection()
        try:
            return await self._send_on(connection, commands)
        except (self._redis.exceptions.ConnectionError, self._redis.exceptions.TimeoutError):
            # The idle connections are probably broken too, and each would cost an attempt.
            await getattr(node, "disconnect_free_connections", node.disconnect)()
            raise
        finally:
            node.release(connection)

    async def _load_map(self) -> None:
        """Load the map of slots and nodes. Concurrent callers wait for the same request."""
        version = self._map_version
        async with self._map_lock:
            if self._map_version == version:
                await self._client.nodes_manager.initialize()
                self._map_version += 1


def packed(words: Command) -> bytes:
    """Encode a command in the protocol of Redis.

    redis-py has an encoder too, but that encoder is slower.
    """
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if type(word) is bytes else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)
