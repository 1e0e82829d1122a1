"""Subscriptions to the events of conversations in Redis.

A *follower* is a subscription of a caller in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from cortext.errors import CortextError
from cortext.model import json_codec, message_dicts
from cortext.service.stores.conversation_events import Event, Hub, StoreSubscription
from cortext.service.stores.redis.redis_client import RedisClient
from cortext.service.stores.redis.redis_event_connection import Joining, Lost, Wire

log: logging.Logger = logging.getLogger("cortext.conversations")

_READ_TIMEOUT = 3.0
"""Seconds without data after which the listener sends PING to the server."""
_RECONNECT_PAUSE = 0.2
_event_decoder = msgspec.json.Decoder(Event)


class RedisListener:
    """The connection on which a store receives events for all followers in this process.

    A follower is a subscription of a caller. The connection subscribes to one channel for each
    followed conversation. If a follower wants the events of all conversations, the connection also
    subscribes to a pattern that matches all channels.

    The connection is open while there are followers. If it is lost, a warning is logged because
    events may be missed, and a new connection is opened soon. In a cluster, the new connection goes
    to another node if possible.

    A follower must not receive events from before it joined. So the listener sends SUBSCRIBE for
    each new follower, and the server answers it. Events that arrive after this answer are new.

    `client_for_loop` returns the client for the running event loop. `channels` is the common prefix
    of all channel names.
    """

    def __init__(self, client_for_loop: Callable[[], RedisClient], channels: str) -> None:
        self.hub: Hub = Hub()
        self._client_for_loop = client_for_loop
        self._channels = channels
        self._pending: set[Joining] = set()
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, follower: RedisFollowing) -> None:
        """Add a follower (a subscription), and wait until the server has confirmed it.

        SessionStorageError is raised if the server refuses or does not answer in time.
        """
        client = self._client_for_loop()
        joining = Joining(self.hub, follower)
        self._pending.add(joining)
        try:
            async with asyncio.timeout(client.timeout):
                if not await self._connect():
                    await self._send_subscribe(joining)
                await joining.done.wait()
        except TimeoutError as error:
            raise client.no_answer(error) from None
        finally:
            self._pending.discard(joining)
            await self._unsubscribe_if_unused(follower.id)
        if joining.error is not None:
            raise client.refused(joining.error)

    async def leave(self, follower: RedisFollowing) -> None:
        self.hub.leave(follower)
        await self._unsubscribe_if_unused(follower.id)

    async def aclose(self) -> None:
        self.hub.end()
        await self._stop()

    def drop(self) -> None:
        """Forget the connection and all followers, because there is a new event loop."""
        self._wire = self._task = None
        self._connecting = asyncio.Lock()
        self._pending.clear()
        self.hub.followers.clear()

    async def _connect(self, lost: Exception | None = None) -> bool:
        """Open the connection if it is not open, and return whether it was opened.

        A new connection subscribes for all followers, including those that still wait to join.
        `lost` is the error that ended the previous connection, or None.
        """
        async with self._connecting:
            if self._wire is not None:
                return False
            wire = Wire(await self._client_for_loop().listener(lost))
            try:
                for id in self.hub.followers:
                    await wire.ask(*self._subscribe_command(id))
                for joining in [*self._pending]:
                    await wire.ask(*self._subscribe_command(joining.id), joining=joining)
            except Lost as error:
                await wire.close()
                raise self._client_for_loop().no_answer(error) from None
            except BaseException:
                await wire.close()
                raise
            self._wire = wire
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._listen())
        return True

    async def _send_subscribe(self, joining: Joining) -> None:
        if self._wire is not None:
            try:
                await self._wire.ask(*self._subscribe_command(joining.id), joining=joining)
            except Lost:
                # The listening task notices the loss and subscribes again for everyone who waits.
                return

    async def _unsubscribe_if_unused(self, id: str | None) -> None:
        """Unsubscribe from the conversation `id` if it has no followers.

        None as `id` means the subscription to all conversations. If there are no followers at all,
        close the connection.
        """
        if not self.hub.followers and not self._pending:
            await self._stop()
        elif self._wire is not None and not self._is_wanted(id):
            try:
                await self._wire.ask(*self._subscribe_command(id, "UN"))
            except Lost:
                return

    def _is_wanted(self, id: str | None) -> bool:
        return id in self.hub.followers or any(joining.id == id for joining in self._pending)

    async def _stop(self) -> None:
        task, self._task = self._task, None
        wire, self._wire = self._wire, None
        try:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        finally:
            if wire is not None:
                await wire.close()

    async def _listen(self) -> None:
        while (wire := self._wire) is not None:
            lost = await self._read_event(wire)
            if lost is not None:
                log.warning("events were lost with the connection to Redis: %s", lost)
                self._wire = None
                await wire.close()
                await self._reconnect(lost)

    async def _reconnect(self, lost: Exception) -> None:
        while self._wire is None:
            await asyncio.sleep(_RECONNECT_PAUSE)
            try:
                await self._connect(lost)
            except CortextError as error:
                log.warning("no events: %s", error)
            except Exception:
                # Catch everything: otherwise this task would end, and nobody would notice that
                # events stop.
                log.exception("no events")

    async def _read_event(self, wire: Wire) -> Exception | None:
        """Wait for the next event, and pass it to the followers of its conversation.

        Return None if the connection works. If it is lost, return the error.
        """
        try:
            reply = await wire.heard(_READ_TIMEOUT)
            if reply is not None:
                self._pass_on(*reply)
        except Lost as error:
            return error
        return None

    def _pass_on(self, kind: bytes, words: list[bytes]) -> None:
        if kind not in (b"message", b"pmessage"):
            return
        event = _decode_event(words[-1])
        if event is not None:
            # An event arrives twice if both its channel and the pattern are subscribed. The channel
            # is for followers of this conversation. The pattern is for followers of all of them.
            channel = words[-2].decode("utf-8", "replace")
            id = channel.removeprefix(self._channels) if kind == b"message" else None
            self.hub.pass_on(id, event)

    def _subscribe_command(self, id: str | None, prefix: str = "") -> tuple[str, str]:
        if id is None:
            return f"P{prefix}SUBSCRIBE", f"{self._channels}*"
        return f"{prefix}SUBSCRIBE", f"{self._channels}{id}"


class RedisFollowing(StoreSubscription):
    """A subscription to the events that any process causes in the store.

    All subscriptions of a store share the connection of its RedisListener.
    """

    def __init__(self, listener: RedisListener, id: str | None) -> None:
        super().__init__(listener.hub, id)
        self._listener = listener

    async def start(self) -> None:
        self._open_queue()
        await self._listener.join(self)

    async def stop(self) -> None:
        self.end()
        await self._listener.leave(self)


def _decode_event(data: bytes) -> Event | None:
    try:
        return _event_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return message_dicts.convert(message_dicts.as_dict(json_codec.decode(data)), Event)
        except ValueError as error:
            log.warning("not a conversation event: %s", error)
            return None
