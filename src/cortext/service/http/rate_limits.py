"""Limits for each client: requests per minute, and event streams at the same time."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

MAX_BODY = 1 << 20
MAX_STREAMS = 1000
_MOST_CLIENTS = 10_000


class Rate:
    """A limit of requests per minute for each client; 0 means no limit.

    A client may send the requests of a minute all at once.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Count a request of a client, and return 0 if the limit allows it.

        Otherwise return the seconds after which the client may send its next request.
        """
        if not self._most:
            return 0.0
        now = self._clock()
        left, then = self._left.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._most / 60)
        enough = left >= 1
        self._left[client] = (left - 1 if enough else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if enough else (1 - left) * 60 / self._most


class Places:
    """A limit of event streams that each client may have open; 0 means no limit.

    A place is the right of a client to one open stream.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def take(self, client: str) -> bool:
        """Take a place for the client, and return whether the client had a free place.

        If the result is True, the caller must later release the place with `give_back`.
        """
        if self._most and self._taken[client] >= self._most:
            return False
        self._taken[client] += 1
        return True

    def give_back(self, client: str) -> None:
        self._taken[client] -= 1
        if not self._taken[client]:
            del self._taken[client]
