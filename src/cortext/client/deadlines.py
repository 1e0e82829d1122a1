"""The time limit of a call to the server, and the pauses between its retries."""

from __future__ import annotations

import random
import time
from typing import Self

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Deadline(float):
    """A time-out in seconds for httpx, which also knows when it ends.

    The float value is the number of seconds that were left when the object was created. `end` is
    the time at which the time-out ends, on the monotonic clock. The function `left` returns the
    seconds that are left now.

    If `each` is not None, every single wait may take `each` seconds, and `left` ignores `end`.
    """

    end: float
    each: float | None

    def __new__(cls, end: float) -> Self:
        deadline = super().__new__(cls, max(end - time.monotonic(), 0.001))
        deadline.end = end
        deadline.each = None
        return deadline


def left(timeout: float | None) -> float | None:
    """Return the number of seconds that the next wait may take.

    For a Deadline, this is the time until its `end`. If `each` of the Deadline is not None, the
    result is `each` instead. Any other time-out is returned unchanged.
    """
    if not isinstance(timeout, Deadline):
        return timeout
    return timeout.end - time.monotonic() if timeout.each is None else timeout.each


class Patience:
    """The time limit and the limit of retries of one call. A call may send several HTTP requests.

    `seconds` is the time limit, and `retries` is the maximum number of retries. If `retries` is
    None, only the time is limited.
    """

    def __init__(self, seconds: float, retries: int | None) -> None:
        self._end = time.monotonic() + seconds
        self._retries_left = retries
        self._pause = _FIRST_PAUSE

    @property
    def until(self) -> Deadline:
        """The time-out of the next request: it ends with the time limit of the whole call."""
        return Deadline(self._end)

    def pause(self, retry_after: str = "") -> float | None:
        """Count a retry, and return the seconds to wait before it, or None if no retry is allowed.

        No retry is allowed if the limit of retries is reached, or if not enough time is left.
        `retry_after` is the header `Retry-After` of the server's answer, or "". If it is a number
        of seconds, this number replaces the usual pause.
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
