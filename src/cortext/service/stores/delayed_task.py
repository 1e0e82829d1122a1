"""A timer for background work in an event loop, such as removing expired conversations."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

LONGEST_SLEEP = 60.0
"""The maximum delay of a timer, in seconds."""


class Alarm:
    """A timer that calls an async method in a task, and never runs two such tasks at once.

    The timer has only a weak reference to the object of the method, and does not keep it alive.
    """

    def __init__(self, method: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._method = weakref.WeakMethod(method)
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def set(self, delay: float) -> None:
        """Schedule a call of the method after `delay` seconds, but at most LONGEST_SLEEP seconds.

        Only one call is scheduled at a time. If a call is already scheduled, the earlier of the two
        calls stays.
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
        """Cancel the timer and forget the task, because the store now uses another event loop."""
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
