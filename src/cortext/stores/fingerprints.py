"""File fingerprints, and a small cache of the most recent values."""

from __future__ import annotations

import os
import threading
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Fingerprint(NamedTuple):
    """A file's inode, size and modification time, to notice that the file has changed.

    If the fingerprint is the same, the content is the same, because writers only replace files or
    append to them.
    """

    inode: int
    size: int
    mtime_ns: int

    def __str__(self) -> str:
        return f"{self.inode} {self.size} {self.mtime_ns}"

    @classmethod
    def of(cls, found: os.stat_result) -> Fingerprint:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)

    @classmethod
    def at(cls, path: str) -> Fingerprint | None:
        """Return the fingerprint of the file at a path, or None if there is no file."""
        try:
            return cls.of(os.stat(path))
        except FileNotFoundError:
            return None


class Recent(Generic[T]):
    """A cache of the `most` values that were put in most recently, by key.

    If the cache is full, the value that was put in first is dropped.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._items: dict[str, T] = {}
        self._threads = threading.Lock()

    def get(self, key: str) -> T | None:
        return self._items.get(key)

    def put(self, key: str, item: T) -> T | None:
        """Store `item` under `key`. Return the value that it replaced or pushed out, or None."""
        with self._threads:
            replaced = self._items.pop(key, None)
            self._items[key] = item
            if len(self._items) <= self._most:
                return replaced
            return self._items.pop(next(iter(self._items)))

    def pop(self, key: str) -> T | None:
        return self._items.pop(key, None)

    def clear(self) -> list[T]:
        with self._threads:
            items, self._items = list(self._items.values()), {}
        return items
