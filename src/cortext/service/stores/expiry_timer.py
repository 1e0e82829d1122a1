"""A timer for many keys, such as conversation ids. Each key expires at its own deadline."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Sized
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Protocol

_COMPACT_MARGIN = 64
"""How many scheduled keys may be left over from keys that no longer exist.

All of them are removed when the number of scheduled keys exceeds twice the number of existing keys
plus this number.
"""


class Handle(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """A monotonic clock that can schedule calls, as an event loop does.

    Tests can pass in a clock of their own.
    """

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Handle: ...


class LoopClock:
    """A clock with the monotonic time of this machine and the timers of the running event loop."""

    time: staticmethod[[], float] = staticmethod(time.monotonic)

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Handle:
        return asyncio.get_running_loop().call_later(delay, callback, *args)


class Sweeper:
    """A timer that calls `expire(key)` for each key whose deadline has passed.

    `deadline_of` returns the current deadline of a key, or None if the key no longer exists. `live`
    is the collection of all existing keys; only its size is used.

    If the deadline of a key moves to a later time, the caller need not tell the timer. At the old
    deadline, the timer calls `deadline_of`, and then waits for the new deadline.

    The clock has only a weak reference to the timer, so a scheduled call does not keep the timer in
    memory.
    """

    def __init__(
        self,
        clock: Clock,
        live: Sized,
        deadline_of: Callable[[str], float | None],
        expire: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._live = live
        self._deadline_of = deadline_of
        self._expire = expire
        self._heap: list[tuple[float, str]] = []
        self._timer: Handle | None = None
        self._timer_deadline = 0.0

    def __len__(self) -> int:
        """Return the number of scheduled keys. It includes keys that no longer exist."""
        return len(self._heap)

    def add(self, key: str, deadline: float) -> None:
        heappush(self._heap, (deadline, key))
        if len(self._heap) > 2 * len(self._live) + _COMPACT_MARGIN:
            self._compact()
        self.arm()

    def sweep(self) -> None:
        """Call `expire` for every key whose deadline has passed."""
        now, heap = self._clock.time(), self._heap
        while heap and heap[0][0] <= now:
            key = heap[0][1]
            deadline = self._deadline_of(key)
            if deadline is not None and deadline > now:
                heapreplace(heap, (deadline, key))
                continue
            heappop(heap)
            if deadline is not None:
                self._expire(key)

    def arm(self) -> None:
        """Set the timer to the earliest deadline. Do nothing if no key is scheduled."""
        if not self._heap:
            return
        deadline = self._heap[0][0]
        if self._timer is not None:
            if self._timer_deadline <= deadline:
                return
            self._timer.cancel()
        self._timer_deadline = deadline
        delay = max(deadline - self._clock.time(), 0.0)
        self._timer = self._clock.call_later(delay, _wake_if_alive, weakref.ref(self))

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def wake(self) -> None:
        self._timer = None
        self.sweep()
        self.arm()

    def _compact(self) -> None:
        deadlines = ((self._deadline_of(key), key) for _, key in self._heap)
        self._heap = [(deadline, key) for deadline, key in deadlines if deadline is not None]
        heapify(self._heap)


def _wake_if_alive(sweeper: weakref.ref[Sweeper]) -> None:
    live_sweeper = sweeper()
    if live_sweeper is not None:
        live_sweeper.wake()
