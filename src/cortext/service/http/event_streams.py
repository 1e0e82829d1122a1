"""Server-sent events that report the new messages of a conversation.

An event of the store only wakes a stream. The stream then reads the conversation and sends its new
messages. For this reason no message is lost or sent twice, even if an event of the store is lost or
another process adds the message.
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
"""Seconds without an event of the store after which the conversation is read again.

The stream then also sends a comment to the client, which keeps the connection open.
"""
GLANCE_EVERY = 1.0
"""Seconds between two quick checks while the store sends no event.

A check finds out whether the client may still receive events. It also finds changes by other
processes that the store does not report.
"""
READY_WITHIN = 2.0
"""Seconds to wait for the store to confirm the subscription to its events."""
_RETRY = b"retry: 2000\n"
_log = logging.getLogger("cortext.web")


class Streams:
    """All event streams of the service that are open now."""

    def __init__(self) -> None:
        self.open: set[_EventWaker] = set()
        self.ended: bool = False

    def end(self) -> None:
        """End all open streams, because the server stops. A new stream then ends at once."""
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
        """Yield server-sent events for the messages that are added to a conversation.

        The window of a conversation is the last messages, which the store still has. The events
        begin after the message with the id `after`. If `after` is None, only messages from now on
        are sent. If `after` is "", all messages of the window are sent.

        The event `begin` names the message after which the stream begins. The event `gap` reports
        that messages left the window before they were sent. If the conversation is deleted or
        expires, the last event is `deleted` or `expired`. The stream also ends when the server
        stops, or when `stays` returns False because the client may no longer receive events.

        Args:
            owned: The store, with its checks of the owner.
            owner: The client that receives the events.
            known: The conversation as the caller has just read it.
            after: The id of the last message that the client has.
            stays: Returns whether the client may still receive events.
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
    """Return the messages after the message with the id `last`, and whether there may be a gap.

    If `last` is no longer among `messages`, return all of them: messages in between may be missing.
    """
    if not last:
        return messages, False
    for number, message in enumerate(messages):
        if message.id == last:
            return messages[number + 1 :], False
    return messages, bool(messages)


def event(kind: str, data: Any, id: str | None = None) -> bytes:
    """Return one server-sent event as bytes, with `data` as JSON.

    The event has no id if `id` is not printable ASCII: a line break in an id would end the event.
    """
    head = f"event: {kind}\n"
    if id and id.isascii() and id.isprintable():
        head += f"id: {id}\n"
    return head.encode() + b"data: " + json_codec.encode(data) + b"\n\n"


async def _look(owned: Owned, owner: str, known: Conversation) -> Conversation | None:
    """Read the conversation again. Return None if it is gone, and `known` if the store fails."""
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
    """A task that wakes an event stream when the store reports a change of its conversation.

    Only a separate task can unsubscribe cleanly: the stream itself is cancelled when its client
    disconnects.
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
        """Wait until the subscription to the store's events is active, fails or takes too long.

        Without a subscription, the stream still checks the conversation regularly.
        """
        try:
            await asyncio.wait_for(self._is_ready.wait(), READY_WITHIN)
        except TimeoutError:
            _log.warning("a stream looks by itself, for the store does not answer yet")

    async def next(self, stays: Callable[[], bool]) -> bool:
        """Wait until the conversation changes, or until `stays` returns False.

        Return True in both cases. Return False if neither happens within `LOOK_EVERY` seconds.
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
