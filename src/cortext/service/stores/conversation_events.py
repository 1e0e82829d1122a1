"""Events of a conversation store, such as "message added", and subscriptions to them.

A *follower* is an active subscription.
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
"""The maximum number of queued events of a subscription. The caller has not read them yet."""


class Event(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One change of a conversation.

    `message` is the added message if `kind` is "message", otherwise None. `kind` is "deleted" also
    if the store removed the conversation because there were more conversations than the limit.
    """

    kind: Kind
    id: str
    message: Message | None = None


class Subscription(ABC):
    """A subscription to the events of a store. It is active inside an `async with` block.

    `async for` yields the events in the order in which they arrive. After the store was closed,
    `async for` yields the events that had already arrived, and ends.
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


def not_entered_error() -> CortextError:
    return CortextError(
        "the subscription is not active: enter it with `async with` first",
        hint="use `async with store.events() as events:`, then `async for event in events:`",
    )


class Hub:
    """All active subscriptions to one store in this process. The hub sends them the events.

    `enter` is called before a subscription is added. It attaches the store to the event loop.
    """

    def __init__(self, enter: Callable[[], None] | None = None) -> None:
        self.followers: dict[str | None, set[StoreSubscription]] = {}
        """The subscriptions by conversation id. The key None means all conversations."""
        self._enter = enter

    def tell(self, kind: Kind, id: str, message: Message | None = None) -> None:
        for key in (None, id):
            self.pass_on(key, Event(kind, id, message))

    def pass_on(self, key: str | None, event: Event) -> None:
        """Send an event to the subscriptions with the key `key`.

        The key of a subscription is the id of its conversation, or None if the subscription is for
        all conversations.
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
        followers = self.followers.get(follower.id, set())
        followers.discard(follower)
        if not followers:
            self.followers.pop(follower.id, None)

    def end(self) -> None:
        """End all subscriptions, because the store is closed."""
        followers = [each for group in self.followers.values() for each in group]
        self.followers.clear()
        for each in followers:
            each.end()


class StoreSubscription(Subscription):
    """A subscription that gets its events from a Hub, and queues them for the caller.

    If more than MOST_WAITING events are queued, the oldest event is dropped with a warning.
    """

    def __init__(self, hub: Hub, id: str | None) -> None:
        self.id = id
        self._hub = hub
        self._queue: asyncio.Queue[Event | None] | None = None
        """The events that the caller has not read yet. None marks the end of the subscription."""

    async def start(self) -> None:
        self._open_queue()
        self._hub.join(self)

    async def stop(self) -> None:
        self._hub.leave(self)
        self.end()

    async def __anext__(self) -> Event:
        queue = self._queue
        if queue is None:
            raise not_entered_error()
        event = await queue.get()
        if event is None:
            # Leave the end marker for the next call.
            queue.put_nowait(None)
            raise StopAsyncIteration
        return event

    def hear(self, event: Event) -> None:
        if self._queue is not None:
            self._put(self._queue, event)

    def end(self) -> None:
        """End the subscription. The caller still gets the events that are in the queue."""
        if self._queue is not None:
            self._put(self._queue, None)

    def _open_queue(self) -> None:
        self._queue = asyncio.Queue(MOST_WAITING)

    def _put(self, queue: asyncio.Queue[Event | None], event: Event | None) -> None:
        if queue.full():
            # A slow follower must not fill the memory, so its oldest event is dropped.
            dropped = queue.get_nowait()
            if dropped is not None:
                log.warning(
                    "a subscriber is too slow: an event of conversation %s is lost", dropped.id
                )
        queue.put_nowait(event)
