"""Retries of calls to a server that may be down for a short time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

# The hint of errors about a server that does not answer.
AGAIN = "check that the server runs, then try again; a message with the same id is stored once"
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

    After a time-out or one of the error types `passing`, `attempt` is called again. Any other error
    is raised at once. One attempt may take at most half of `within` seconds, so that there is time
    for a second attempt. If there is no answer within `within` seconds, the function raises the
    error that `no_answer` returns.

    Args:
        attempt: Calls the server. Its argument is the error of the previous attempt, or `lost` for
            the first attempt.
        within: The time-out for all attempts, in seconds.
        passing: The types of errors that may be temporary.
        no_answer: Returns the error to raise. Its argument is the last error that has a text.
        lost: An error that happened before this call, or None.
    """
    time = asyncio.get_running_loop().time
    deadline, pause, last_error = time() + within, _FIRST_PAUSE, lost
    while True:
        try:
            async with asyncio.timeout(min(within / 2, deadline - time())):
                return await attempt(lost)
        except (TimeoutError, *passing) as error:
            lost = error
        if last_error is None or str(lost):
            last_error = lost
        if time() + pause >= deadline:
            raise no_answer(last_error) from last_error
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def check_timeout(timeout: Any) -> float:
    """Return `timeout` as a float, or raise ValueError if it is not a valid number of seconds.

    Valid numbers are above 0 and below a million.
    """
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < 1e6:
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r:.60}")
    return float(timeout)
