"""Subscriptions to the events of conversations in Redis.

A *follower* is a subscription of a caller in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from cortext.errors import CortextError
from cortext.model import json_codec, record_dicts
from cortext.service.stores.conversation_events import Event, Hub, StoreSubscription
from cortext.service.stores.redis.pubsub import Joining, Lost, Wire
from cortext.service.stores.redis.redis_client import RedisClient

log: logging.Logger = logging.getLogger("cortext.conversations")

_LISTEN = 3.0
_PAUSE = 0.2
_events = msgspec.json.Decoder(Event)


class RedisListener:
    """The one connection that receives events for all followers of a store in this process.

    The connection subscribes to the channel of each followed conversation. For followers of all
    conversations, it subscribes to a pattern of all channels.

    The connection is open while there are followers. If it is lost, a warning says that events were
    lost, and a new connection is opened soon, in a cluster to another node.

    A follower receives no events from before it joined. The server answers every SUBSCRIBE, even a
    repeated one, and this answer separates the earlier events from the later ones.
    """

    def __init__(self, linked: Callable[[], RedisClient], channels: str) -> None:
        self.hub: Hub = Hub()
        self._linked = linked
        self._channels = channels
        self._waiting: set[Joining] = set()
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, follower: RedisFollowing) -> None:
        """Subscribe to the events of a follower, and return when the server has answered.

        SessionStorageError is raised if the server refuses or does not answer in time.
        """
        link = self._linked()
        joining = Joining(self.hub, follower)
        self._waiting.add(joining)
        try:
            async with asyncio.timeout(link.timeout):
                if not await self._connect():
                    await self._ask(joining)
                await joining.done.wait()
        except TimeoutError as error:
            raise link.no_answer(error) from None
        finally:
            self._waiting.discard(joining)
            await self._rest(follower.id)
        if joining.error is not None:
            raise link.refused(joining.error)

    async def leave(self, follower: RedisFollowing) -> None:
        self.hub.leave(follower)
        await self._rest(follower.id)

    async def aclose(self) -> None:
        self.hub.end()
        await self._stop()

    def drop(self) -> None:
        """Forget the connection and all followers, because the store has a new event loop."""
        self._wire = self._task = None
        self._connecting = asyncio.Lock()
        self._waiting.clear()
        self.hub.followers.clear()

    async def _connect(self, lost: Exception | None = None) -> bool:
        """Open the connection if it is not open. Return whether it was opened.

        A new connection subscribes for all followers, including those that still wait to join.
        `lost` is the error that ended the last connection.
        """
        async with self._connecting:
            if self._wire is not None:
                return False
            made = Wire(await self._linked().listener(lost))
            try:
                for id in self.hub.followers:
                    await made.ask(*self._words(id))
                for joining in [*self._waiting]:
                    await made.ask(*self._words(joining.id), joining=joining)
            except Lost as error:
                await made.close()
                raise self._linked().no_answer(error) from None
            except BaseException:
                await made.close()
                raise
            self._wire = made
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._listen())
        return True

    async def _ask(self, joining: Joining) -> None:
        if self._wire is not None:
            try:
                await self._wire.ask(*self._words(joining.id), joining=joining)
            except Lost:
                # The listening task notices the loss and subscribes again for everyone who waits.
                return

    async def _rest(self, id: str | None) -> None:
        """Unsubscribe from the conversation `id` if it has no followers.

        If the store has no followers at all, close the connection.
        """
        if not self.hub.followers and not self._waiting:
            await self._stop()
        elif self._wire is not None and not self._is_wanted(id):
            try:
                await self._wire.ask(*self._words(id, "UN"))
            except Lost:
                return

    def _is_wanted(self, id: str | None) -> bool:
        return id in self.hub.followers or any(joining.id == id for joining in self._waiting)

    async def _stop(self) -> None:
        task, self._task = self._task, None
        found, self._wire = self._wire, None
        try:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        finally:
            if found is not None:
                await found.close()

    async def _listen(self) -> None:
        while (found := self._wire) is not None:
            lost = await self._hear(found)
            if lost is not None:
                log.warning("events were lost with the connection to Redis: %s", lost)
                self._wire = None
                await found.close()
                await self._connect_anew(lost)

    async def _connect_anew(self, lost: Exception) -> None:
        while self._wire is None:
            await asyncio.sleep(_PAUSE)
            try:
                await self._connect(lost)
            except CortextError as error:
                log.warning("no events: %s", error)
            except Exception:
                # Catch everything: otherwise this task would end, and nobody would notice that
                # events stop.
                log.exception("no events")

    async def _hear(self, found: Wire) -> Exception | None:
        """Wait for the next event and pass it to its followers.

        Return the error if the connection is lost, otherwise None.
        """
        try:
            said = await found.heard(_LISTEN)
            if said is not None:
                self._note(*said)
        except Lost as error:
            return error
        return None

    def _note(self, kind: bytes, words: list[bytes]) -> None:
        if kind not in (b"message", b"pmessage"):
            return
        event = _decoded(words[-1])
        if event is not None:
            # An event comes twice if both its channel and the pattern are subscribed. The channel
            # serves the followers of one conversation, the pattern the followers of all.
            channel = words[-2].decode("utf-8", "replace")
            id = channel.removeprefix(self._channels) if kind == b"message" else None
            self.hub.pass_on(id, event)

    def _words(self, id: str | None, un: str = "") -> tuple[str, str]:
        if id is None:
            return f"P{un}SUBSCRIBE", f"{self._channels}*"
        return f"{un}SUBSCRIBE", f"{self._channels}{id}"


class RedisFollowing(StoreSubscription):
    """A subscription to the events of any process, which the Redis server publishes.

    All subscriptions of a store share the connection of its RedisListener.
    """

    def __init__(self, listening: RedisListener, id: str | None) -> None:
        super().__init__(listening.hub, id)
        self._listening = listening

    async def start(self) -> None:
        self._begin()
        await self._listening.join(self)

    async def stop(self) -> None:
        self.end()
        await self._listening.leave(self)


def _decoded(data: bytes) -> Event | None:
    try:
        return _events.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return record_dicts.convert(record_dicts.as_dict(json_codec.decode(data)), Event)
        except ValueError as error:
            log.warning("not an event of conversations: %s", error)
            return None
