"""Server-sent events that report the new messages of a conversation.

An event of the store only wakes the stream. The stream then reads the conversation from the store,
and sends the messages that are new. The stream also reads the conversation at regular intervals. So
no message is lost or sent twice, even if an event of the store is lost or another process adds the
message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from cortext.errors import CortextError, SessionNotFoundError, SessionStorageError
from cortext.model import json_codec
from cortext.service.http.owned_store import OwnedStore
from cortext.service.stores.base import Conversations
from cortext.service.stores.conversation_events import Subscription
from cortext.service.stores.port import Conversation, Message, Messages

MEDIA_TYPE = "text/event-stream"
LOOK_EVERY = 5.0
"""Seconds without an event of the store after which a stream reads the conversation again.

The stream then also sends a comment to the client, which keeps the connection open.
"""
CHECK_EVERY = 1.0
"""Seconds between two quick checks while the store sends no event.

A check finds out whether the client may still receive events, and whether another process has
changed the conversation.
"""
READY_WITHIN = 2.0
"""Seconds to wait for the store to confirm the subscription to its events."""
_RETRY = b"retry: 2000\n"
_log = logging.getLogger("cortext.web")


class Streams:
    """All open event streams of the service."""

    def __init__(self) -> None:
        self.open: set[_EventWaker] = set()
        self.ended: bool = False

    def end(self) -> None:
        """End all event streams, because the server stops. Later streams end at once."""
        self.ended = True
        for each in self.open:
            each.wake()

    async def follow(
        self,
        owned: OwnedStore,
        owner: str,
        known: Conversation,
        after: str | None,
        stays: Callable[[], bool],
    ) -> AsyncGenerator[bytes]:
        """Yield server-sent events for the messages that are added to a conversation.

        - `begin` is the first event. It has the id of the message after which the stream begins.
        - `message` has a new message.
        - `gap` means that some messages were not sent, because the store no longer returns them.
        - `deleted` or `expired` is the last event if the conversation is deleted or expires.

        The stream also ends when the server stops, or when `stays` returns False.

        Args:
            owned: The store, which checks that the conversation belongs to `owner`.
            owner: The client that receives the events.
            known: The conversation that the caller has just read.
            after: The id of the last message that the client has. The stream begins after this
                message. With None, the stream begins with the next new message. With "", it begins
                with the first message that the store returns.
            stays: A function that returns whether the client may still receive events.
        """
        id = known.id
        waker = _EventWaker(owned.store, id)
        self.open.add(waker)
        try:
            await waker.ready()
            if self.ended:
                return
            await waker.glance()
            conversation = await _read_again(owned, owner, known)
            last = after if after is not None else _last_id(conversation)
            yield _RETRY + event("begin", {"after": last or ""}, last)
            while conversation is not None:
                new, has_gap = newer(conversation.messages, last)
                if has_gap:
                    yield event("gap", {"id": id})
                for message in new:
                    yield event("message", message, message.id)
                    last = message.id
                if not self.ended and not await waker.next(stays):
                    yield b": still here\n\n"
                if self.ended or not stays():
                    return
                conversation = await _read_again(owned, owner, conversation)
            yield event(waker.end_kind, {"id": id})
        finally:
            self.open.discard(waker)
            waker.stop()


def newer(messages: Messages, last: str | None) -> tuple[Messages, bool]:
    """Return the messages after the message `last`, and whether messages may be missing.

    `last` is the id of a message. If no message has this id any more, return all messages and True.
    If `last` is "" or None, return all messages and False.
    """
    if not last:
        return messages, False
    for number, message in enumerate(messages):
        if message.id == last:
            return messages[number + 1 :], False
    return messages, bool(messages)


def event(kind: str, data: Any, id: str | None = None) -> bytes:
    """Return one server-sent event as bytes, with `data` as JSON.

    The id is left out unless it is printable ASCII, because a line break in an id would end the
    event.
    """
    head = f"event: {kind}\n"
    if id and id.isascii() and id.isprintable():
        head += f"id: {id}\n"
    return head.encode() + b"data: " + json_codec.encode(data) + b"\n\n"


async def _read_again(owned: OwnedStore, owner: str, known: Conversation) -> Conversation | None:
    """Read the conversation `known` again, and return its current state.

    Return None if the conversation no longer exists. If the store fails, log the error and return
    `known`.
    """
    try:
        return await owned.get(owner, known.id)
    except SessionNotFoundError:
        return None
    except SessionStorageError as error:
        _log.warning("a stream waits for its store: %s", error)
        return known


def _last_id(conversation: Conversation | None) -> str | None:
    messages: list[Message] = conversation.messages if conversation else []
    return messages[-1].id if messages else None


class _EventWaker:
    """A task that wakes an event stream when the store reports a change of the conversation.

    The stream does not listen to the store itself, because the stream is cancelled when its client
    disconnects. After that, it could not unsubscribe from the store.
    """

    def __init__(self, store: Conversations, id: str) -> None:
        self.end_kind = "deleted"
        self._store = store
        self._id = id
        self._mark: object = None
        self._is_ready = asyncio.Event()
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(store.events(id)))

    async def ready(self) -> None:
        """Wait until the store has confirmed the subscription, but at most `READY_WITHIN` seconds.

        Also return if the subscription fails. The stream then only checks the conversation
        regularly.
        """
        try:
            await asyncio.wait_for(self._is_ready.wait(), READY_WITHIN)
        except TimeoutError:
            _log.warning("a stream polls the store, because it has not answered yet")

    async def next(self, stays: Callable[[], bool]) -> bool:
        """Wait for a change of the conversation, at most `LOOK_EVERY` seconds.

        Return True if the conversation has changed, or if `stays` returns False because the client
        may no longer receive events. Otherwise return False.
        """
        for _ in range(max(round(LOOK_EVERY / CHECK_EVERY), 1)):
            try:
                await asyncio.wait_for(self._woken.wait(), min(CHECK_EVERY, LOOK_EVERY))
            except TimeoutError:
                if await self.glance() or not stays():
                    return True
            else:
                self._woken.clear()
                return True
        return False

    async def glance(self) -> bool:
        """Return whether the conversation has changed since the last call.

        The result is always False if the store reports every change as an event.
        """
        earlier, self._mark = self._mark, await self._store.mark(self._id)
        return self._mark != earlier

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
                        self.end_kind = each.kind
                    self.wake()
        except CortextError as error:
            _log.warning("a stream polls the store, because it sends no events: %s", error)
        finally:
            self._is_ready.set()
