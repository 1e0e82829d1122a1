"""Retries of calls to a server that may be down for a short time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN = "is it running? try again when it is back: a message with the same id is stored once"
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


async def until_answered(
    attempt: Callable[[Exception | None], Awaitable[T]],
    *,
    within: float,
    passing: tuple[type[Exception], ...],
    no_answer: Callable[[Exception], Exception],
    lost: Exception | None = None,
) -> T:
    """Call `attempt` until the server answers, and return the answer.

    `attempt` gets the error of the previous attempt; the first attempt gets `lost`. After a
    time-out or one of the `passing` errors, `attempt` is called again. Every other error is raised
    at once.

    After `within` seconds, `no_answer` is called with the last error that has a text, and the error
    that it returns is raised. One attempt may take at most half of `within`, so that after a dead
    connection there is time for another attempt.
    """
    time = asyncio.get_running_loop().time
    deadline, pause, told = time() + within, _FIRST_PAUSE, lost
    while True:
        try:
            async with asyncio.timeout(min(within / 2, deadline - time())):
                return await attempt(lost)
        except (TimeoutError, *passing) as error:
            lost = error
        if told is None or str(lost):
            told = lost
        if time() + pause >= deadline:
            raise no_answer(told) from told
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def check_timeout(timeout: Any) -> float:
    """Return `timeout` as a float. ValueError is raised if it is not a valid number of seconds.

    Valid numbers are above 0 and below a million.
    """
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not number or not 0 < timeout < 1e6:
        raise ValueError(f"timeout is a number of seconds above 0, not {timeout!r:.60}")
    return float(timeout)
