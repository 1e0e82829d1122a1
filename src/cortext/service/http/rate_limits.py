"""How much one client may ask for."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

MAX_BODY = 1 << 20
MAX_STREAMS = 1000
_MOST_CLIENTS = 10_000


class Rate:
    """At most so many requests a minute for each client, at once or one after the other; 0 is no
    limit. A client that was refused is told when to come again."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take one request; 0, or for how many seconds there is none left to take."""
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
    """At most so many things at a time for each client; 0 is any number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def take(self, client: str) -> bool:
        """Whether there was one, which is to be given back."""
        if self._most and self._taken[client] >= self._most:
            return False
        self._taken[client] += 1
        return True

    def give_back(self, client: str) -> None:
        self._taken[client] -= 1
        if not self._taken[client]:
            del self._taken[client]
