"""Following the conversations of a Redis server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from cortext.conversations.events import Event, Subscription
from cortext.conversations.redis_link import Link
from cortext.errors import SessionStorageError
from cortext.model import json, wire

log = logging.getLogger("cortext.conversations")

_LISTEN = 3.0
_PAUSE = 0.2
_events = msgspec.json.Decoder(Event)


class RedisFollowing(Subscription):
    """Events that the server publishes on the channels of a pattern."""

    def __init__(self, linked: Callable[[], Link], pattern: str) -> None:
        self._linked = linked
        self._pattern = pattern
        self._pubsub: Any = None
        self._asked = False

    async def start(self) -> None:
        self._pubsub = await self._linked().subscribe(self._pattern)

    async def stop(self) -> None:
        if self._pubsub is not None:
            await self._pubsub.aclose()
            self._pubsub = None

    async def __anext__(self) -> Event:
        while True:
            found = await self._heard()
            if found is not None:
                return found

    async def _heard(self) -> Event | None:
        """An event, or nothing after a while or when the server says something else."""
        from redis.exceptions import ConnectionError as Lost
        from redis.exceptions import TimeoutError as Late

        try:
            found = await self._pubsub.get_message(timeout=_LISTEN)
            if found is None:
                # A server that stands still looks like one that has nothing to tell.
                if self._asked:
                    raise Late("no answer")
                self._asked = True
                await self._pubsub.ping()
                return None
        except (Lost, Late) as error:
            log.warning("events were lost with the connection to Redis: %s", error)
            await self._begin_anew(error)
            return None
        self._asked = False
        return _decoded(found["data"]) if found["type"] == "pmessage" else None

    async def _begin_anew(self, lost: Exception) -> None:
        """Another subscription, maybe with another node: the one that had it may be gone."""
        self._asked = False
        await self._pubsub.aclose()
        while True:
            await asyncio.sleep(_PAUSE)
            try:
                self._pubsub = await self._linked().subscribe(self._pattern, lost)
                return
            except SessionStorageError as error:
                log.warning("no events: %s", error)


def _decoded(data: bytes) -> Event | None:
    try:
        return _events.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return wire.convert(wire.as_dict(json.decode(data)), Event)
        except ValueError as error:
            log.warning("not an event of conversations: %s", error)
            return None
