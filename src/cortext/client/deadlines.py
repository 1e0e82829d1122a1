"""The total time of a call, and the pauses between its retries."""

from __future__ import annotations

import random
import time
from typing import Self

_FIRST = 0.1
_LONGEST = 2.0


class Deadline(float):
    """A time-out that knows when it ends.

    The value is the number of seconds from creation to the end. A caller that waits several times
    gets the remaining seconds from `left`. If `each` is set, every wait may take that many seconds
    instead.
    """

    end: float
    each: float | None

    def __new__(cls, end: float) -> Self:
        found = super().__new__(cls, max(end - time.monotonic(), 0.001))
        found.end = end
        found.each = None
        return found


def left(timeout: float | None) -> float | None:
    """Return the seconds that remain of a Deadline. A plain time-out is returned unchanged."""
    if not isinstance(timeout, Deadline):
        return timeout
    return timeout.end - time.monotonic() if timeout.each is None else timeout.each


class Patience:
    """The time and the retries of one call, which may make several requests.

    `retries` is the number of further tries. None allows as many as fit into `seconds`.
    """

    def __init__(self, seconds: float, retries: int | None) -> None:
        self._end = time.monotonic() + seconds
        self._left = retries
        self._pause = _FIRST

    @property
    def until(self) -> Deadline:
        """The deadline of the call."""
        return Deadline(self._end)

    def pause(self, retry_after: str = "") -> float | None:
        """Return how many seconds to wait before the next try, or None if there is none.

        `retry_after` is the server's header: if it is a number of seconds, it replaces the usual
        pause.
        """
        if self._left is not None and self._left <= 0:
            return None
        own = self._pause * random.uniform(0.5, 1)  # noqa: S311
        seconds = float(retry_after) if retry_after.isdecimal() else own
        if seconds >= self.until:
            return None
        if self._left is not None:
            self._left -= 1
        self._pause = min(2 * self._pause, _LONGEST)
        return seconds
