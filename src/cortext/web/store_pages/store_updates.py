"""Server-sent events that tell a page when its part of a store has changed.

Events of the store only wake the stream. Some stores report only changes by this process, and
events can be lost. So the store is also checked regularly.
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
"""Seconds between two checks without an event."""
_REST = 10
"""The pause after a check, as a multiple of the time that the check took.

So a long list is not read all the time.
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
    """Yield `grown` whenever `look` returns another version than the one that was `seen`.

    When `look` returns "", yield `deleted` or `expired`, or `gone` if the store does not report
    which, and stop. Stop also when the server stops or `stays` returns False.
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
    """Return the current version, or `seen` while the store fails."""
    try:
        return await look()
    except SessionStorageError as error:
        _log.warning("a page waits for its store: %s", error)
        return seen


class _UpdateWaker:
    """A listener to the events of a store, in its own task.

    The task can unsubscribe cleanly when the browser has left and everything else is cancelled.
    """

    def __init__(self, events: Subscription) -> None:
        self._ended = ""
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._listen(events))

    async def rest(self, least: float, most: float, ending: Ending) -> None:
        """Wait for an event, from `least` to `most` seconds, or until the server stops."""
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
