"""The event subscription of `AsyncClient`, which receives the new messages of a conversation."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import httpx

from cortext.client.event_stream import SILENCE, FollowedConversation
from cortext.client.requests import Request
from cortext.client.responses import answer_of
from cortext.service.stores.conversation_events import Event, Subscription, not_entered

Stream = Callable[[Request, float], AbstractAsyncContextManager[httpx.Response]]
_MOST_WAITING = 1000


class EventFollower(Subscription):
    """A subscription to the events of one conversation, over one connection at a time.

    When `async with` has entered, the server has confirmed where the events begin, so no later
    event is missed. A separate task reads the events. Therefore a caller can stop waiting, for
    example after a time-out, and continue later. If the caller is slow, the server waits.
    """

    def __init__(self, stream: Stream, url: str, following: FollowedConversation) -> None:
        self._stream = stream
        self._url = url
        self._following = following
        self._heard: deque[Event] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._has_begun = False

    async def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(lambda _: self._news.set())
        try:
            while not (self._has_begun or self._task.done()):
                await self._wait(self._news)
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self._error is not None and not self._heard:
            raise self._error

    async def stop(self) -> None:
        await self._cancel()
        self._heard.clear()

    async def end(self) -> None:
        """Stop reading from the server. The caller still gets the events that have arrived."""
        if self._task is not None and not self._task.done():
            await self._cancel()

    async def __anext__(self) -> Event:
        if self._task is None:
            raise not_entered()
        while not self._heard:
            if self._task.done():
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            await self._wait(self._news)
        self._room.set()
        return self._heard.popleft()

    async def _cancel(self) -> None:
        task = self._task
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        try:
            await self._read()
        except Exception as error:  # noqa: BLE001  __anext__ raises it
            self._error = error

    async def _read(self) -> None:
        """Read events until the conversation ends. A broken connection is opened again."""
        following = self._following
        while not following.has_ended:
            try:
                found = await self._listen(following)
            except httpx.RequestError as error:
                found = following.lost(error)
            if isinstance(found, Event):
                await self._tell([found])
                return
            await asyncio.sleep(found)

    async def _listen(self, following: FollowedConversation) -> float | Event:
        """Read the events of one connection to the server.

        Returns how many seconds to wait before the next connection. Returns the last event instead
        if there will be no more events.
        """
        try:
            async with (
                asyncio.timeout(following.begin()) as limit,
                self._stream(following.call, SILENCE) as response,
            ):
                status, headers = response.status_code, response.headers
                if not following.connected(status, headers):
                    body = await response.aread()
                    return following.refused(answer_of(self._url, status, headers, body))
                limit.reschedule(None)
                async for data in response.aiter_bytes():
                    await self._tell(following.feed(data))
        except TimeoutError:
            raise httpx.ReadTimeout("timed out") from None
        return 0.0 if following.has_ended else following.lost()

    async def _tell(self, events: list[Event]) -> None:
        self._heard += events
        self._has_begun = True
        self._news.set()
        while len(self._heard) > _MOST_WAITING:
            await self._wait(self._room)

    async def _wait(self, event: asyncio.Event) -> None:
        """Clear an asyncio event, and wait until it is set again."""
        event.clear()
        await event.wait()
