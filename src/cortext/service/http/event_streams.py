"""A conversation as it grows, as server-sent events.

Events of the store only wake us: what is sent is read from the conversation itself, so nothing is
sent twice or left out because an event was lost, or because another process added the message.
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
"""Seconds after which a conversation is looked at without an event; the connection is kept so."""
GLANCE_EVERY = 1.0
"""Seconds after which we see that a listener may not stay, or that another process wrote where
nobody tells us."""
READY_WITHIN = 2.0
"""Seconds that a store has to say that it tells us of events."""
_RETRY = b"retry: 2000\n"
_log = logging.getLogger("cortext.web")


class Streams:
    """Those that are open now."""

    def __init__(self) -> None:
        self.open: set[_EventWaker] = set()
        self.ended: bool = False

    def end(self) -> None:
        """Let all of them end, and no other begin."""
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
        """What is added after the message `after`, else from now on, until the conversation is
        gone, the server stops or the listener no longer `stays`; after "" is all that is there.
        `begin` says after which message it begins, `gap` that messages left the window before they
        were sent."""
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
    """What comes after the message `last`, and whether something before that is missing."""
    if not last:
        return messages, False
    for number, message in enumerate(messages):
        if message.id == last:
            return messages[number + 1 :], False
    return messages, bool(messages)


def event(kind: str, data: Any, id: str | None = None) -> bytes:
    """One event on the wire. JSON has no line breaks; an id that had one would end the event."""
    head = f"event: {kind}\n"
    if id and id.isascii() and id.isprintable():
        head += f"id: {id}\n"
    return head.encode() + b"data: " + json_codec.encode(data) + b"\n\n"


async def _look(owned: Owned, owner: str, known: Conversation) -> Conversation | None:
    """The conversation now; as it was, while the store cannot tell."""
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
    """Listens to a store in a task of its own, which can let go of it in peace when the client
    has left and everything else is being cancelled."""

    def __init__(self, store: Conversations, id: str) -> None:
        self.how_it_ended = "deleted"
        self._store = store
        self._id = id
        self._mark: object = None
        self._is_ready = asyncio.Event()
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(store.events(id)))

    async def ready(self) -> None:
        """Wait until nothing can be missed; or until it is clear that nothing will be heard, now
        or at all: then we look by ourselves."""
        try:
            await asyncio.wait_for(self._is_ready.wait(), READY_WITHIN)
        except TimeoutError:
            _log.warning("a stream looks by itself, for the store does not answer yet")

    async def next(self, stays: Callable[[], bool]) -> bool:
        """Wait for something to happen, also that the listener no longer `stays`; False after a
        while without."""
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
        """Whether something changed that no event tells of, since the last glance."""
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
