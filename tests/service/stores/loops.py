"""Tests that wait: each in an event loop of its own."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any

PATIENCE = 30.0
STALL = 6.0
"""The time-out of a store whose server hangs or dies: longer than a busy machine stands still."""


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """An async test as pytest runs tests."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 2 * PATIENCE))

    return run


async def until(holds: Callable[[], Any], what: str = "what the test waits for") -> None:
    """Wait until it holds; a failure after the deadline."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"it did not happen: {what}"
        await asyncio.sleep(0.01)


class FakeClock:
    """A time that moves when a test says so, and then calls what is due."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.calls: list[FakeCall] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> "FakeCall":
        call = FakeCall(self, self.now + delay, callback, args)
        self.calls.append(call)
        return call

    def advance(self, seconds: float) -> None:
        """So many seconds pass, each timer goes off at its time."""
        end = self.now + seconds
        while due := [call for call in self.calls if call.when <= end]:
            first = min(due, key=lambda call: call.when)
            first.cancel()
            self.now = max(self.now, first.when)
            first.callback(*first.args)
        self.now = end


class FakeCall:
    def __init__(self, clock: FakeClock, when: float, callback: Any, args: Any) -> None:
        self.clock, self.when, self.callback, self.args = clock, when, callback, args

    def cancel(self) -> None:
        if self in self.clock.calls:
            self.clock.calls.remove(self)
