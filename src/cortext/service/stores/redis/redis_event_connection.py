"""A Redis connection for events. New channels can be subscribed while it receives events."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, cast

from cortext.service.stores.conversation_events import Hub, StoreSubscription
from cortext.service.stores.redis.redis_command_routing import packed

log: logging.Logger = logging.getLogger("cortext.conversations")


class Lost(Exception):
    """Raised if a connection can no longer be used."""


class Joining:
    """A subscription that waits until the server has answered the command SUBSCRIBE.

    `done` is set when the server has answered. If it answered with an error, `error` is this error,
    otherwise None.
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

    Any task may send a command, but only one task may read. The server answers the commands in the
    order in which they were sent. Events may arrive between the answers.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._pending_answers: deque[Joining | None] = deque()
        self._send_lock = asyncio.Lock()
        self._is_pinged = False

    async def ask(self, *words: str, joining: Joining | None = None) -> None:
        """Send a command, such as SUBSCRIBE, without waiting for the answer.

        `joining` is a subscription that is informed when the answer arrives. Lost is raised if the
        command cannot be sent.
        """
        # Send in a separate task: redis-py closes a connection if its user is cancelled.
        await asyncio.shield(asyncio.ensure_future(self._send(words, joining)))

    async def heard(self, seconds: float) -> tuple[bytes, list[bytes]] | None:
        """Read the next event or answer of the server. Return its first word and its other words.

        The first word says what was received, such as `message` for an event. Return None if the
        server answered with an error.

        If no data arrives for `seconds` seconds, ping the server and return None. If no data
        arrives during the next call either, Lost is raised.
        """
        from redis.exceptions import RedisError, ResponseError

        try:
            reply: Any = await self._connection.read_response(
                disable_decoding=True, timeout=seconds, disconnect_on_error=False, push_request=True
            )
        except ResponseError as error:
            self._handle_answer(error)
            return None
        except (RedisError, OSError) as error:
            raise Lost(str(error)) from None
        if reply is None:
            await self._ping()
            return None
        self._is_pinged = False
        kind, *words = cast("list[bytes]", reply if type(reply) is list else [reply])
        if kind not in (b"message", b"pmessage"):
            self._handle_answer(None)
        return kind, words

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)

    async def _send(self, words: tuple[str, ...], joining: Joining | None) -> None:
        from redis.exceptions import RedisError

        async with self._send_lock:
            # redis-py would reconnect here, and the new connection would have no subscriptions.
            if not self._connection.is_connected:
                raise Lost("the connection is closed")
            self._pending_answers.append(joining)
            try:
                await self._connection.send_packed_command(packed(words), check_health=False)
            except (RedisError, OSError) as error:
                raise Lost(str(error)) from None

    async def _ping(self) -> None:
        """Send PING, to find out whether the server hangs or only has no events.

        Lost is raised if the last PING was not answered.
        """
        if self._is_pinged:
            raise Lost("no answer")
        self._is_pinged = True
        await self.ask("PING")

    def _handle_answer(self, error: Exception | None) -> None:
        joining = self._pending_answers.popleft() if self._pending_answers else None
        if joining is not None:
            joining.answered(error)
        elif error is not None:
            log.warning("no events: Redis refused: %s", error)
