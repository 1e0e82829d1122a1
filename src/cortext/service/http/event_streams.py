"""A growing conversation as server-sent events.

Events of the store only wake a stream. The stream then reads the conversation and sends what is
new. So nothing is missing or sent twice if an event is lost, or if another process adds the
message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from cortext.errors import CortextError, SessionNotFoundError, SessionStorageError
from cortext.model import json_codec
from cortext.service.http.ownership import Owned
from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_events import Subscription
from cortext.service.stores.port import Conversation, Message, Messages

MEDIA_TYPE = "text/event-stream"
LOOK_EVERY = 5.0
"""Seconds without an event after which the conversation is read again.

A comment is sent then, which keeps the connection open.
"""
GLANCE_EVERY = 1.0
"""Seconds between two checks without an event.

Each check finds out whether the listener may still listen. It also finds changes by other processes
that the store does not report.
"""
READY_WITHIN = 2.0
"""Seconds to wait for the store to confirm the subscription to its events."""
_RETRY = b"retry: 2000\n"
_log = logging.getLogger("cortext.web")


class Streams:
    """The event streams that are open now."""

    def __init__(self) -> None:
        self.open: set[_EventWaker] = set()
        self.ended: bool = False

    def end(self) -> None:
        """End all streams, and start no other."""
        self.ended = True
        for each in self.open:
            each.wake()

    async def follow(
        self,
        owned: Owned,
        owner: str,
        known: Conversation,
        after: str | None,
        stays: Callable[[], bool],
    ) -> AsyncGenerator[bytes]:
        """Yield events for the messages that are added after the message `after`.

        If `after` is None, only messages from now on are sent. If `after` is "", all messages of
        the window are sent. The stream ends when the conversation is gone, the server stops or
        `stays` returns False.

        The event `begin` names the message after which the stream begins. The event `gap` says that
        messages left the window before they were sent. The last event is `deleted` or `expired` if
        the conversation is gone.
        """
        id = known.id
        waking = _EventWaker(owned.store, id)
        self.open.add(waking)
        try:
            await waking.ready()
            if self.ended:
                return
            await waking.glance()
            found = await _look(owned, owner, known)
            last = after if after is not None else _last(found)
            yield _RETRY + event("begin", {"after": last or ""}, last)
            while found is not None:
                new, has_gap = newer(found.messages, last)
                if has_gap:
                    yield event("gap", {"id": id})
                for message in new:
                    yield event("message", message, message.id)
                    last = message.id
                if not self.ended and not await waking.next(stays):
                    yield b": still here\n\n"
                if self.ended or not stays():
                    return
                found = await _look(owned, owner, found)
            yield event(waking.how_it_ended, {"id": id})
        finally:
            self.open.discard(waking)
            waking.stop()


def newer(messages: Messages, last: str | None) -> tuple[Messages, bool]:
    """Return the messages after the message `last`, and whether messages in between are missing."""
    if not last:
        return messages, False
    for number, message in enumerate(messages):
        if message.id == last:
            return messages[number + 1 :], False
    return messages, bool(messages)


def event(kind: str, data: Any, id: str | None = None) -> bytes:
    """Return one server-sent event as bytes.

    JSON has no line breaks. An id that is not printable ASCII is left out: a line break in it would
    end the event.
    """
    head = f"event: {kind}\n"
    if id and id.isascii() and id.isprintable():
        head += f"id: {id}\n"
    return head.encode() + b"data: " + json_codec.encode(data) + b"\n\n"


async def _look(owned: Owned, owner: str, known: Conversation) -> Conversation | None:
    """Return the conversation now, or `known` while the store fails; None if it is gone."""
    try:
        return await owned.get(owner, known.id)
    except SessionNotFoundError:
        return None
    except SessionStorageError as error:
        _log.warning("a stream waits for its store: %s", error)
        return known


def _last(found: Conversation | None) -> str | None:
    messages: list[Message] = found.messages if found else []
    return messages[-1].id if messages else None


class _EventWaker:
    """A listener to the events of a store, in its own task.

    The task can unsubscribe cleanly when the client has left and everything else is cancelled.
    """

    def __init__(self, store: Conversations, id: str) -> None:
        self.how_it_ended = "deleted"
        self._store = store
        self._id = id
        self._mark: object = None
        self._is_ready = asyncio.Event()
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(store.events(id)))

    async def ready(self) -> None:
        """Wait until the subscription is active, fails or takes too long.

        Without a subscription, the stream checks the conversation regularly.
        """
        try:
            await asyncio.wait_for(self._is_ready.wait(), READY_WITHIN)
        except TimeoutError:
            _log.warning("a stream looks by itself, for the store does not answer yet")

    async def next(self, stays: Callable[[], bool]) -> bool:
        """Wait for a change of the conversation, or until `stays` returns False.

        Return False if neither happens within `LOOK_EVERY` seconds.
        """
        for _ in range(max(round(LOOK_EVERY / GLANCE_EVERY), 1)):
            try:
                await asyncio.wait_for(self._woken.wait(), min(GLANCE_EVERY, LOOK_EVERY))
            except TimeoutError:
                if await self.glance() or not stays():
                    return True
            else:
                self._woken.clear()
                return True
        return False

    async def glance(self) -> bool:
        """Return whether the conversation changed without an event since the last call."""
        before, self._mark = self._mark, await self._store.mark(self._id)
        return self._mark != before

    def wake(self) -> None:
        self._is_ready.set()
        self._woken.set()

    def stop(self) -> None:
        self._task.cancel()

    async def _listen(self, events: Subscription) -> None:
        try:
            async with events:
                self._is_ready.set()
                async for each in events:
                    if each.kind in ("deleted", "expired"):
                        self.how_it_ended = each.kind
                    self.wake()
        except CortextError as error:
            _log.warning("a stream looks by itself, for the store tells nothing: %s", error)
        finally:
            self._is_ready.set()
