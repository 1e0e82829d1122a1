"""Server-sent events that report to an open web page that a store has changed.

An event of the store only wakes the stream. Some stores report only changes by this process, and
events can be lost. For this reason the stream also checks the store regularly.
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
from cortext.web.live_updates import ALIVE, Ending

LOOK = 1.0
"""Seconds between two checks of the store while it sends no event."""
_REST = 10
"""The pause after a check of the store, as a multiple of the time that the check took.

The pause prevents that a long list is read all the time.
"""
_MOMENT = 0.2
_log = logging.getLogger("cortext.web")


async def tell(
    look: Callable[[], Awaitable[str]],
    events: Subscription,
    seen: str,
    ending: Ending,
    stays: Callable[[], bool],
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the event `grown` whenever the list or the conversation on a page has changed.

    When a conversation no longer exists, yield `deleted` or `expired` and stop. Yield `gone`
    instead if the store does not report the reason. Also stop when the server stops.

    Args:
        look: Returns the current version; "" if the conversation no longer exists.
        events: The subscription to the events of the store, which cause a check.
        seen: The version that the page shows.
        ending: The flag that is set when the server stops.
        stays: Returns whether the client may still receive events. If not, the stream ends.
    """
    waking = _UpdateWaker(events)
    said = time.monotonic()
    try:
        while not ending.is_near and stays():
            began = time.monotonic()
            now = await _looked(look, seen)
            cost = time.monotonic() - began
            if not now:
                yield {"event": await waking.how_it_ended(), "data": "{}"}
                return
            if now != seen:
                facts = json_codec.encode({"version": now}).decode()
                yield {"event": "grown", "id": now, "data": facts}
                seen, said = now, time.monotonic()
            elif time.monotonic() > said + ALIVE:
                yield {"event": "alive", "data": "{}"}
                said = time.monotonic()
            await waking.rest(_REST * cost, max(LOOK, _REST * cost), ending)
    finally:
        waking.stop()


async def _looked(look: Callable[[], Awaitable[str]], seen: str) -> str:
    """Return the current version that `look` returns, or `seen` if the store fails."""
    try:
        return await look()
    except SessionStorageError as error:
        _log.warning("a page waits for its store: %s", error)
        return seen


class _UpdateWaker:
    """A task that wakes an event stream when the store reports a change.

    Only a separate task can unsubscribe cleanly: the stream itself is cancelled when its browser
    disconnects.
    """

    def __init__(self, events: Subscription) -> None:
        self._ended = ""
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(events))

    async def rest(self, least: float, most: float, ending: Ending) -> None:
        """Wait at least `least` seconds, then until an event comes, but at most `most` seconds.

        Return early if the server stops.
        """
        began = time.monotonic()
        while not ending.is_near and time.monotonic() < began + most:
            if self._woken.is_set() and time.monotonic() >= began + least:
                break
            await self._for_a_moment()
        self._woken.clear()

    async def how_it_ended(self) -> str:
        """Return how the conversation ended: "deleted", "expired" or, if unknown, "gone".

        Wait a moment for the store to report it.
        """
        end = time.monotonic() + _MOMENT
        while not self._ended and time.monotonic() < end:
            self._woken.clear()
            await self._for_a_moment()
        return self._ended or "gone"

    def stop(self) -> None:
        self._task.cancel()

    async def _for_a_moment(self) -> None:
        if self._woken.is_set():
            await asyncio.sleep(_MOMENT / 10)
            return
        try:
            await asyncio.wait_for(self._woken.wait(), _MOMENT)
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
            _log.warning("a page looks by itself, for the store tells nothing: %s", error)
