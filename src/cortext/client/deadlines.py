"""The time limit of a call to the server, and the pauses between its retries."""

from __future__ import annotations

import random
import time
from typing import Self

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Deadline(float):
    """A time-out in seconds that also knows the moment at which it ends.

    The float value is the number of seconds that were left when the object was created. `end` is
    the moment on the monotonic clock. Code that waits several times calls the function `left`
    before each wait. If `each` is not None, it is the time-out of every single wait, and `end` is
    ignored.
    """

    end: float
    each: float | None

    def __new__(cls, end: float) -> Self:
        deadline = super().__new__(cls, max(end - time.monotonic(), 0.001))
        deadline.end = end
        deadline.each = None
        return deadline


def left(timeout: float | None) -> float | None:
    """Return the seconds that the next wait may take.

    For a Deadline, these are the seconds until its end, or its `each` if that is not None. Return
    any other time-out unchanged.
    """
    if not isinstance(timeout, Deadline):
        return timeout
    return timeout.end - time.monotonic() if timeout.each is None else timeout.each


class Patience:
    """The time limit and the retries of one client call, which may send several HTTP requests.

    `seconds` is the time limit. `retries` is the maximum number of retries. If it is None, only the
    time limit counts.
    """

    def __init__(self, seconds: float, retries: int | None) -> None:
        self._end = time.monotonic() + seconds
        self._retries_left = retries
        self._pause = _FIRST_PAUSE

    @property
    def until(self) -> Deadline:
        """The remaining time of the call, as a time-out for the next request."""
        return Deadline(self._end)

    def pause(self, retry_after: str = "") -> float | None:
        """Count a retry, and return the seconds to wait before it.

        Return None if no retry is left, or if there is not enough time. `retry_after` is the
        `Retry-After` header of the server's answer, or "". If it is a number of seconds, it
        replaces the usual pause.
        """
        if self._retries_left is not None and self._retries_left <= 0:
            return None
        usual = self._pause * random.uniform(0.5, 1)  # noqa: S311
        seconds = float(retry_after) if retry_after.isdecimal() else usual
        if seconds >= self.until:
            return None
        if self._retries_left is not None:
            self._retries_left -= 1
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return seconds
