"""The time limit of a call to the server, and the pauses between its retries."""

from __future__ import annotations

import random
import time
from typing import Self

_FIRST = 0.1
_LONGEST = 2.0


class Deadline(float):
    """A time-out in seconds that also knows the moment at which it ends.

    `end` is that moment on the monotonic clock. Code that waits several times calls `left` for the
    remaining seconds. If `each` is set, every single wait may take `each` seconds instead.
    """

    end: float
    each: float | None

    def __new__(cls, end: float) -> Self:
        found = super().__new__(cls, max(end - time.monotonic(), 0.001))
        found.end = end
        found.each = None
        return found


def left(timeout: float | None) -> float | None:
    """Return how many seconds the next wait may take.

    For a Deadline, these are the remaining seconds, or `each` if it is set. Any other time-out is
    returned unchanged.
    """
    if not isinstance(timeout, Deadline):
        return timeout
    return timeout.end - time.monotonic() if timeout.each is None else timeout.each


class Patience:
    """The time limit and the retries of one call of a client, which may send several requests.

    `seconds` is the time limit. `retries` is the maximum number of retries. None allows as many as
    fit into the time limit.
    """

    def __init__(self, seconds: float, retries: int | None) -> None:
        self._end = time.monotonic() + seconds
        self._left = retries
        self._pause = _FIRST

    @property
    def until(self) -> Deadline:
        """The time that remains of the call."""
        return Deadline(self._end)

    def pause(self, retry_after: str = "") -> float | None:
        """Return how many seconds to wait before the next retry, and count the retry.

        Returns None if no retry is left, or not enough time. `retry_after` is the `Retry-After`
        header of the server. If it is a number of seconds, it replaces the usual pause.
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
