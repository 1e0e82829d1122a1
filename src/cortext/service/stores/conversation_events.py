"""Events such as "message added" in a conversation store, and subscriptions to them.

A *follower* is a subscription that is in use.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self

from msgspec import Struct

from cortext.errors import CortextError
from cortext.service.stores.port import Message, own

log: logging.Logger = logging.getLogger("cortext.conversations")

Kind = Literal["created", "message", "deleted", "expired"]
MOST_WAITING = 10_000


class Event(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One change of a conversation.

    `message` is the added message if `kind` is "message", otherwise None. A conversation that was
    removed because of the store's limit has the kind "deleted".
    """

    kind: Kind
    id: str
    message: Message | None = None


class Subscription(ABC):
    """The events of a store, in order, during an `async with` block.

    The subscription also ends when the store is closed. An `async for` over the subscription then
    yields the events that have already arrived, and ends.
    """

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...

    @abstractmethod
    async def __anext__(self) -> Event: ...


def not_entered() -> CortextError:
    return CortextError(
        "events are heard from the moment when they are entered, and these were not",
        hint="async with store.events() as events: async for event in events",
    )


class Hub:
    """The subscriptions in this process to the events of one store.

    `enter` is called before a subscription is added.
    """

    def __init__(self, enter: Callable[[], None] | None = None) -> None:
        self.followers: dict[str | None, set[StoreSubscription]] = {}
        """The subscriptions by conversation id. The key None has subscriptions to all of them."""
        self._enter = enter

    def tell(self, kind: Kind, id: str, message: Message | None = None) -> None:
        for key in (None, id):
            self.pass_on(key, Event(kind, id, message))

    def pass_on(self, key: str | None, event: Event) -> None:
        """Send an event to the followers of the conversation `key`.

        If `key` is None, send it to the followers of all conversations.
        """
        message = event.message
        for follower in self.followers.get(key, ()):
            follower.hear(Event(event.kind, event.id, None if message is None else own(message)))

    def follow(self, id: str | None) -> StoreSubscription:
        return StoreSubscription(self, id)

    def has_followers(self, id: str) -> bool:
        return None in self.followers or id in self.followers

    def join(self, follower: StoreSubscription) -> None:
        if self._enter is not None:
            self._enter()
        self.followers.setdefault(follower.id, set()).add(follower)

    def leave(self, follower: StoreSubscription) -> None:
        beside = self.followers.get(follower.id, set())
        beside.discard(follower)
        if not beside:
            self.followers.pop(follower.id, None)

    def end(self) -> None:
        """End all subscriptions, because the store is closed."""
        followers = [each for beside in self.followers.values() for each in beside]
        self.followers.clear()
        for each in followers:
            each.end()


class StoreSubscription(Subscription):
    """A subscription that gets its events from a Hub and queues them until the caller reads them.

    At most MOST_WAITING events are queued. Then the oldest event is dropped with a warning.
    """

    def __init__(self, hub: Hub, id: str | None) -> None:
        self.id = id
        self._hub = hub
        self._waiting: asyncio.Queue[Event | None] | None = None
        """The events that the caller has not read yet. None marks the end of the subscription."""

    async def start(self) -> None:
        self._begin()
        self._hub.join(self)

    async def stop(self) -> None:
        self._hub.leave(self)
        self.end()

    async def __anext__(self) -> Event:
        waiting = self._waiting
        if waiting is None:
            raise not_entered()
        event = await waiting.get()
        if event is None:
            # Leave the end marker for the next call.
            waiting.put_nowait(None)
            raise StopAsyncIteration
        return event

    def hear(self, event: Event) -> None:
        if self._waiting is not None:
            self._put(self._waiting, event)

    def end(self) -> None:
        """End the subscription: no more events will come."""
        if self._waiting is not None:
            self._put(self._waiting, None)

    def _begin(self) -> None:
        self._waiting = asyncio.Queue(MOST_WAITING)

    def _put(self, waiting: asyncio.Queue[Event | None], event: Event | None) -> None:
        if waiting.full():
            # A slow follower must not fill the memory, so its oldest event is dropped.
            lost = waiting.get_nowait()
            if lost is not None:
                log.warning("a follower is too slow: an event of conversation %s is lost", lost.id)
        waiting.put_nowait(event)
