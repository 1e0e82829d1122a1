"""A connection to Redis on which events are heard, and on which others are asked for meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, cast

from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.redis.transport import packed

log: logging.Logger = logging.getLogger("cortext.conversations")


class Lost(Exception):
    """The connection is of no use any more."""


class Joining:
    """Somebody who is let in when the server has answered, or told that it refused."""

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
    """One connection of redis-py, which is nobody else's, without anything that redis-py would do
    by itself: it never connects anew. Any task may ask, one hears. The server answers what it is
    asked in its order, and tells of events in between."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._asked: deque[Joining | None] = deque()
        self._asking = asyncio.Lock()
        self._is_pinged = False

    async def ask(self, *words: str, joining: Joining | None = None) -> None:
        """Send a command; `joining` gets the answer. Lost if it cannot be sent."""
        # Its own task: redis-py closes a connection in the midst of whose use it is cancelled.
        await asyncio.shield(asyncio.ensure_future(self._ask(words, joining)))

    async def heard(self, seconds: float) -> tuple[bytes, list[bytes]] | None:
        """What is said next, by its kind; None after so many seconds without. Lost if the one
        before was without too, though the server was asked then."""
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
            # One that is not connected would connect, and nobody would listen there.
            if not self._connection.is_connected:
                raise Lost("it is closed")
            self._asked.append(joining)
            try:
                await self._connection.send_packed_command(packed(words), check_health=False)
            except (RedisError, OSError) as error:
                raise Lost(str(error)) from None

    async def _ping(self) -> None:
        """A server that stands still looks like one that has nothing to tell."""
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
