"""A connection to Redis that receives events and can subscribe to more channels meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, cast

from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.redis.transport import packed

log: logging.Logger = logging.getLogger("cortext.conversations")


class Lost(Exception):
    """The connection can no longer be used."""


class Joining:
    """A subscription of a caller for which the server has not answered SUBSCRIBE yet.

    `done` is set when the server has answered. `error` is its error, or None.
    """

    def __init__(self, hub: Hub, follower: StoreSubscription) -> None:
        self.id: str | None = follower.id
        self.done: asyncio.Event = asyncio.Event()
        self.error: Exception | None = None
        self._hub = hub
        self._follower = follower

    def answered(self, error: Exception | None) -> None:
        if not self.done.is_set():
            self.error = error
            if error is None:
                self._hub.join(self._follower)
            self.done.set()


class Wire:
    """A redis-py connection that is used only for events and never reconnects.

    Any task may send a command, but only one task reads. The server answers commands in the order
    in which they were sent, and sends events in between.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._asked: deque[Joining | None] = deque()
        self._asking = asyncio.Lock()
        self._is_pinged = False

    async def ask(self, *words: str, joining: Joining | None = None) -> None:
        """Send a command, such as SUBSCRIBE, without waiting for the answer.

        `joining` is notified of the answer. Lost is raised if the command cannot be sent.
        """
        # Send in a separate task: redis-py closes a connection if its user is cancelled.
        await asyncio.shield(asyncio.ensure_future(self._ask(words, joining)))

    async def heard(self, seconds: float) -> tuple[bytes, list[bytes]] | None:
        """Read the next event or answer, and return its kind and its other words.

        Return None if the server answered with an error, or sent no data for `seconds`. After such
        a silence, the server is pinged. If the next call gets no data either, it raises Lost.
        """
        from redis.exceptions import RedisError, ResponseError

        try:
            said: Any = await self._connection.read_response(
                disable_decoding=True, timeout=seconds, disconnect_on_error=False, push_request=True
            )
        except ResponseError as error:
            self._answer(error)
            return None
        except (RedisError, OSError) as error:
            raise Lost(str(error)) from None
        if said is None:
            await self._ping()
            return None
        self._is_pinged = False
        kind, *words = cast("list[bytes]", said if type(said) is list else [said])
        if kind not in (b"message", b"pmessage"):
            self._answer(None)
        return kind, words

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)

    async def _ask(self, words: tuple[str, ...], joining: Joining | None) -> None:
        from redis.exceptions import RedisError

        async with self._asking:
            # redis-py would reconnect here, and the new connection would have no subscriptions.
            if not self._connection.is_connected:
                raise Lost("it is closed")
            self._asked.append(joining)
            try:
                await self._connection.send_packed_command(packed(words), check_health=False)
            except (RedisError, OSError) as error:
                raise Lost(str(error)) from None

    async def _ping(self) -> None:
        """Send PING, because a server that hangs looks like a server without events.

        Lost is raised if the last PING was not answered.
        """
        if self._is_pinged:
            raise Lost("no answer")
        self._is_pinged = True
        await self.ask("PING")

    def _answer(self, error: Exception | None) -> None:
        joining = self._asked.popleft() if self._asked else None
        if joining is not None:
            joining.answered(error)
        elif error is not None:
            log.warning("no events: Redis refused: %s", error)
