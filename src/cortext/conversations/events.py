"""What happens to conversations, for those who follow them."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Literal, Self

from msgspec import Struct

from cortext.conversations.port import Message, own

log = logging.getLogger("cortext.conversations")

Kind = Literal["created", "message", "deleted", "expired"]
MOST_WAITING = 10_000


class Event(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One thing that happened; `message` is what was added. One that was removed because there
    were too many is `deleted`."""

    kind: Kind
    id: str
    message: Message | None = None


class Subscription(ABC):
    """Events in their order, from the moment when it is entered."""

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


class Hub:
    """Those who follow the conversations of this process."""

    def __init__(self) -> None:
        self.followers: dict[str | None, set[Following]] = {}
        """By the id that they follow; None are those who follow all."""

    def tell(self, kind: Kind, id: str, message: Message | None = None) -> None:
        followers = (*self.followers.get(None, ()), *self.followers.get(id, ()))
        for follower in followers:
            follower.hear(Event(kind, id, None if message is None else own(message)))

    def follow(self, id: str | None) -> Following:
        return Following(self, id)

    def has_followers(self, id: str) -> bool:
        return None in self.followers or id in self.followers

    def join(self, follower: Following) -> None:
        self.followers.setdefault(follower.id, set()).add(follower)

    def leave(self, follower: Following) -> None:
        beside = self.followers.get(follower.id, set())
        beside.discard(follower)
        if not beside:
            self.followers.pop(follower.id, None)


class Following(Subscription):
    """Events of a store in this process."""

    def __init__(self, hub: Hub, id: str | None) -> None:
        self.id = id
        self._hub = hub
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(MOST_WAITING)

    async def start(self) -> None:
        self._hub.join(self)

    async def stop(self) -> None:
        self._hub.leave(self)

    async def __anext__(self) -> Event:
        return await self._waiting.get()

    def hear(self, event: Event) -> None:
        if self._waiting.full():
            # One who does not listen must not fill the memory of all.
            lost = self._waiting.get_nowait()
            log.warning("a follower is too slow: an event of conversation %s is lost", lost.id)
        self._waiting.put_nowait(event)
