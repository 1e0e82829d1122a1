"""What happens to conversations, for those who follow them."""

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
    """One thing that happened; `message` is what was added. One that was removed because there
    were too many is `deleted`."""

    kind: Kind
    id: str
    message: Message | None = None


class Subscription(ABC):
    """Events in their order, from the moment when it is entered until it is left or what it follows
    is closed: then an `async for` over it ends, after what was heard already."""

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
    """Those who follow the conversations of this process. `enter` is called before one joins."""

    def __init__(self, enter: Callable[[], None] | None = None) -> None:
        self.followers: dict[str | None, set[StoreSubscription]] = {}
        """By the id that they follow; None are those who follow all."""
        self._enter = enter

    def tell(self, kind: Kind, id: str, message: Message | None = None) -> None:
        for key in (None, id):
            self.pass_on(key, Event(kind, id, message))

    def pass_on(self, key: str | None, event: Event) -> None:
        """Tell those who follow this id, or those who follow all."""
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
        """The store is closed: let all of them end."""
        followers = [each for beside in self.followers.values() for each in beside]
        self.followers.clear()
        for each in followers:
            each.end()


class StoreSubscription(Subscription):
    """Events of a store in this process."""

    def __init__(self, hub: Hub, id: str | None) -> None:
        self.id = id
        self._hub = hub
        self._waiting: asyncio.Queue[Event | None] | None = None
        """None in it is the end."""

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
            # For whoever asks again.
            waiting.put_nowait(None)
            raise StopAsyncIteration
        return event

    def hear(self, event: Event) -> None:
        if self._waiting is not None:
            self._put(self._waiting, event)

    def end(self) -> None:
        """Nothing more will be heard."""
        if self._waiting is not None:
            self._put(self._waiting, None)

    def _begin(self) -> None:
        self._waiting = asyncio.Queue(MOST_WAITING)

    def _put(self, waiting: asyncio.Queue[Event | None], event: Event | None) -> None:
        if waiting.full():
            # One who does not listen must not fill the memory of all.
            lost = waiting.get_nowait()
            if lost is not None:
                log.warning("a follower is too slow: an event of conversation %s is lost", lost.id)
        waiting.put_nowait(event)
