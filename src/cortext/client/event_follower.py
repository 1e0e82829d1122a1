"""The event subscription of `AsyncClient`, which receives the new messages of a conversation."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import httpx

from cortext.client.event_stream_state import SILENCE, FollowedConversation
from cortext.client.responses import answer_of
from cortext.client.service_calls import Request
from cortext.service.stores.conversation_events import Event, Subscription, not_entered_error

Stream = Callable[[Request, float], AbstractAsyncContextManager[httpx.Response]]
_MOST_WAITING = 1000


class EventFollower(Subscription):
    """A subscription to the events of one conversation on a server.

    `async with` starts the subscription, and waits until the server has confirmed it. No event
    after the confirmation is missed. A separate task reads the events, so the caller may stop
    waiting, for example after a time-out, and continue later. If the caller is slow, the task stops
    reading until the caller continues.

    `stream` sends a request and opens its answer. `following` is the state of the subscription.
    """

    def __init__(self, stream: Stream, url: str, following: FollowedConversation) -> None:
        self._stream = stream
        self._url = url
        self._following = following
        self._received: deque[Event] = deque()
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._has_begun = False

    async def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(lambda _: self._has_news.set())
        try:
            while not (self._has_begun or self._task.done()):
                await self._wait(self._has_news)
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self._error is not None and not self._received:
            raise self._error

    async def stop(self) -> None:
        await self._cancel()
        self._received.clear()

    async def end(self) -> None:
        """Stop reading from the server. The caller still gets the events that have arrived."""
        if self._task is not None and not self._task.done():
            await self._cancel()

    async def __anext__(self) -> Event:
        if self._task is None:
            raise not_entered_error()
        while not self._received:
            if self._task.done():
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            await self._wait(self._has_news)
        self._has_room.set()
        return self._received.popleft()

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
        """Read events until the conversation is deleted or expires. Connect again if necessary."""
        following = self._following
        while not following.has_ended:
            try:
                result = await self._listen(following)
            except httpx.RequestError as error:
                result = following.lost(error)
            if isinstance(result, Event):
                await self._deliver([result])
                return
            await asyncio.sleep(result)

    async def _listen(self, following: FollowedConversation) -> float | Event:
        """Connect to the server once, and read events until the connection ends.

        Return the seconds to wait before the next connection. If the conversation was deleted,
        return a `deleted` event instead, and no further connection is needed.
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
                    await self._deliver(following.feed(data))
        except TimeoutError:
            raise httpx.ReadTimeout("timed out") from None
        return 0.0 if following.has_ended else following.lost()

    async def _deliver(self, events: list[Event]) -> None:
        self._received += events
        self._has_begun = True
        self._has_news.set()
        while len(self._received) > _MOST_WAITING:
            await self._wait(self._has_room)

    async def _wait(self, event: asyncio.Event) -> None:
        """Clear an asyncio event, and wait until it is set again."""
        event.clear()
        await event.wait()
