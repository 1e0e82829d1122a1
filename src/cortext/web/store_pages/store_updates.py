"""Server-sent events that tell an open web page when a store changes.

The stream of a page checks the store at regular intervals, and also when the store reports an
event. Events alone are not enough: some stores report only the changes of this process, and events
can be lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from cortext.errors import CortextError, SessionStorageError
from cortext.model import json_codec
from cortext.service.stores.conversation_events import Subscription
from cortext.web.live_updates import ALIVE_INTERVAL, ShutdownFlag

LOOK = 1.0
"""Seconds between two checks of the store while it sends no event."""
_PAUSE_FACTOR = 10
"""The pause after a check, as a multiple of the duration of the check.

Without this pause, a store with a long list would be read all the time.
"""
_SHORT_WAIT = 0.2
_log = logging.getLogger("cortext.web")


async def tell(
    look: Callable[[], Awaitable[str]],
    events: Subscription,
    seen: str,
    ending: ShutdownFlag,
    stays: Callable[[], bool],
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the event `grown` each time the list or the conversation on a page changes.

    If the conversation no longer exists, yield `deleted` or `expired` and stop. If the reason is
    unknown, yield `gone` instead. Also stop when the server stops. If nothing changes for a while,
    yield `alive`.

    Args:
        look: Returns the current version; "" if the conversation no longer exists.
        events: The subscription to the events of the store, which cause a check.
        seen: The version that the page shows.
        ending: The flag that is set when the server stops.
        stays: Returns whether the client may still receive events. If not, the stream ends.
    """
    waker = _UpdateWaker(events)
    last_event = time.monotonic()
    try:
        while not ending.is_near and stays():
            began = time.monotonic()
            version = await _current_version(look, seen)
            duration = time.monotonic() - began
            if not version:
                yield {"event": await waker.end_kind(), "data": "{}"}
                return
            if version != seen:
                facts = json_codec.encode({"version": version}).decode()
                yield {"event": "grown", "id": version, "data": facts}
                seen, last_event = version, time.monotonic()
            elif time.monotonic() > last_event + ALIVE_INTERVAL:
                yield {"event": "alive", "data": "{}"}
                last_event = time.monotonic()
            await waker.rest(_PAUSE_FACTOR * duration, max(LOOK, _PAUSE_FACTOR * duration), ending)
    finally:
        waker.stop()


async def _current_version(look: Callable[[], Awaitable[str]], seen: str) -> str:
    """Return the version from `look`. If the store fails, log the error and return `seen`."""
    try:
        return await look()
    except SessionStorageError as error:
        _log.warning("a page waits for its store: %s", error)
        return seen


class _UpdateWaker:
    """A task that listens to the store, and wakes an event stream when the store changes.

    The stream does not listen to the store itself, because the stream is cancelled when its browser
    disconnects. After that, it could not unsubscribe from the store.
    """

    def __init__(self, events: Subscription) -> None:
        self._ended = ""
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(events))

    async def rest(self, least: float, most: float, ending: ShutdownFlag) -> None:
        """Wait for an event of the store, at least `least` and at most `most` seconds.

        Return early if the server stops.
        """
        began = time.monotonic()
        while not ending.is_near and time.monotonic() < began + most:
            if self._woken.is_set() and time.monotonic() >= began + least:
                break
            await self._wait_briefly()
        self._woken.clear()

    async def end_kind(self) -> str:
        """Return why the conversation no longer exists: "deleted", "expired" or "gone".

        The store gets a moment to report the reason. "gone" means that it did not report a reason.
        """
        end = time.monotonic() + _SHORT_WAIT
        while not self._ended and time.monotonic() < end:
            self._woken.clear()
            await self._wait_briefly()
        return self._ended or "gone"

    def stop(self) -> None:
        self._task.cancel()

    async def _wait_briefly(self) -> None:
        if self._woken.is_set():
            await asyncio.sleep(_SHORT_WAIT / 10)
            return
        try:
            await asyncio.wait_for(self._woken.wait(), _SHORT_WAIT)
        except TimeoutError:
            return

    async def _listen(self, events: Subscription) -> None:
        try:
            async with events:
                async for each in events:
                    if each.kind in ("deleted", "expired"):
                        self._ended = each.kind
                    self._woken.set()
        except CortextError as error:
            _log.warning("a page polls the store, because it sends no events: %s", error)
