"""How long a call may take altogether, and when it is tried once more."""

from __future__ import annotations

import random
import time
from typing import Self

_FIRST = 0.1
_LONGEST = 2.0


class Deadline(float):
    """A time-out that knows when it ends. What waits several times, each time for so many
    seconds, can ask how many are `left` of the whole; or of `each`, once that is set."""

    end: float
    each: float | None

    def __new__(cls, end: float) -> Self:
        found = super().__new__(cls, max(end - time.monotonic(), 0.001))
        found.end = end
        found.each = None
        return found


def left(timeout: float | None) -> float | None:
    """What is left of a time-out now; of a plain one, all of it."""
    if not isinstance(timeout, Deadline):
        return timeout
    return timeout.end - time.monotonic() if timeout.each is None else timeout.each


class Patience:
    """Of one call, which may be several requests, for `seconds` and `retries` more tries; None is
    as many as there is time for."""

    def __init__(self, seconds: float, retries: int | None) -> None:
        self._end = time.monotonic() + seconds
        self._left = retries
        self._pause = _FIRST

    @property
    def until(self) -> Deadline:
        """What is left of the time."""
        return Deadline(self._end)

    def pause(self, retry_after: str = "") -> float | None:
        """For how long to wait before the next try; None if there is none."""
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
