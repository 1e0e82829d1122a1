"""How long a call may take altogether, and when it is tried once more."""

from __future__ import annotations

import random
import time

from cortext.client.calls import Answer, Call

_FIRST = 0.1
_LONGEST = 2.0


class Patience:
    """Of one call. A request that never reached the server may always be sent again."""

    def __init__(self, call: Call, seconds: float, retries: int) -> None:
        self._again = call.again
        self._end = time.monotonic() + seconds
        self._left = retries
        self._pause = _FIRST

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return max(self._end - time.monotonic(), 0.001)

    def pause(self, answer: Answer | None = None, *, was_sent: bool = True) -> float | None:
        """For how long to wait before the next try; None if there is none."""
        if self._left <= 0 or (was_sent and not self._again):
            return None
        if answer is not None and not answer.may_try_again:
            return None
        asked = answer.retry_after if answer else ""
        seconds = float(asked) if asked.isdecimal() else self._pause * random.uniform(0.5, 1)  # noqa: S311
        if seconds > self.seconds:
            return None
        self._left -= 1
        self._pause = min(2 * self._pause, _LONGEST)
        return seconds
