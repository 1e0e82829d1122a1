"""A cache of a limited size."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class LimitedCache(Generic[T]):
    """A cache of at most `most` values, by key.

    If the cache is full, a new value replaces the value that was stored first.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._items: dict[str, T] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        return self._items.get(key)

    def put(self, key: str, item: T) -> T | None:
        """Store `item` under `key`. Return the value that it replaces, or None.

        If the key is already in the cache, the earlier value of the key is replaced. If the key is
        new and the cache is full, the oldest value of the cache is replaced.
        """
        with self._lock:
            replaced = self._items.pop(key, None)
            self._items[key] = item
            if len(self._items) <= self._most:
                return replaced
            return self._items.pop(next(iter(self._items)))

    def pop(self, key: str) -> T | None:
        return self._items.pop(key, None)

    def clear(self) -> list[T]:
        with self._lock:
            items, self._items = list(self._items.values()), {}
        return items
