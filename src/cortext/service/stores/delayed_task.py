"""A timer for background work in an event loop, such as the removal of expired conversations."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

LONGEST_SLEEP = 60.0
"""The maximum delay of a timer, in seconds."""


class Alarm:
    """A timer that calls an async method. It never runs two calls at the same time.

    The timer does not keep the object of the method alive, because it has only a weak reference.
    """

    def __init__(self, method: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._method = weakref.WeakMethod(method)
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def set(self, delay: float) -> None:
        """Schedule a call of the method after `delay` seconds, but at most LONGEST_SLEEP seconds.

        If a call is already scheduled, only the earlier of the two calls takes place.
        """
        loop = asyncio.get_running_loop()
        delay = min(delay, LONGEST_SLEEP)
        if self._timer is not None:
            if self._timer.when() <= loop.time() + delay:
                return
            self._timer.cancel()
        alarm: weakref.ref[Alarm] = weakref.ref(self)
        self._timer = loop.call_later(delay, _ring_if_alive, alarm)

    def ring(self) -> None:
        self._timer = None
        method = self._method()
        if method is not None and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(method())

    def drop(self) -> None:
        """Cancel the timer and forget the running call, because there is a new event loop."""
        self._stop()
        self._task = None

    async def aclose(self) -> None:
        self._stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _ring_if_alive(alarm: weakref.ref[Alarm]) -> None:
    live_alarm = alarm()
    if live_alarm is not None:
        live_alarm.ring()
