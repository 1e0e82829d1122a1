"""Retries of calls to a server that may be away for a while."""

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

    `attempt` gets the error of the attempt before; the first one gets `lost`. After a time-out or a
    `passing` error it is called again. Every other error is raised at once.

    After `within` seconds, the error is raised that `no_answer` makes from the last error with a
    text. One attempt takes at most half of the time, so that a dead connection leaves time for
    another.
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
    """Return the time-out in seconds. ValueError is raised if it is not a positive number."""
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not number or not 0 < timeout < 1e6:
        raise ValueError(f"timeout is a number of seconds above 0, not {timeout!r:.60}")
    return float(timeout)
