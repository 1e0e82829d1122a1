"""Limits for each client: requests per minute, and event streams at the same time."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

MAX_BODY = 1 << 20
MAX_STREAMS = 1000
_MAX_CLIENTS = 10_000


class Rate:
    """A limit of requests per minute for each client; 0 means no limit.

    For example, if the limit is 60, a client may send 60 requests at once, and after that one
    request per second.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._maximum = float(per_minute)
        self._clock = clock
        self._remaining: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Return 0 if the client may send a request now, and count the request.

        Otherwise return the number of seconds after which the client may send a request.
        """
        if not self._maximum:
            return 0.0
        now = self._clock()
        remaining, last_time = self._remaining.pop(client, (self._maximum, now))
        remaining = min(self._maximum, remaining + (now - last_time) * self._maximum / 60)
        is_allowed = remaining >= 1
        self._remaining[client] = (remaining - 1 if is_allowed else remaining, now)
        if len(self._remaining) > _MAX_CLIENTS:
            self._remaining.popitem(last=False)
        return 0.0 if is_allowed else (1 - remaining) * 60 / self._maximum


class Places:
    """A limit of event streams that each client may have open at the same time.

    Each client has `most` places, and every open stream takes one place. If `most` is 0, there is
    no limit.
    """

    def __init__(self, most: int) -> None:
        self._maximum = most
        self._open_streams: Counter[str] = Counter()

    def take(self, client: str) -> bool:
        """Take a place for a stream of the client. Return False if the client has no free place.

        If the result is True, the caller must release the place later with `give_back`.
        """
        if self._maximum and self._open_streams[client] >= self._maximum:
            return False
        self._open_streams[client] += 1
        return True

    def give_back(self, client: str) -> None:
        self._open_streams[client] -= 1
        if not self._open_streams[client]:
            del self._open_streams[client]
