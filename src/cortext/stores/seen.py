"""What a store knows of the sessions that it read or wrote last."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Fingerprint(NamedTuple):
    """Two files with the same one have the same content, since writers replace or append."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Fingerprint:
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)

    @classmethod
    def at(cls, path: str) -> Fingerprint | None:
        """Of the file that is there now; None without one."""
        try:
            return cls.of(os.stat(path))
        except FileNotFoundError:
            return None


class Recent(Generic[T]):
    """The latest few values by key."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._items: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str) -> T | None:
        try:
            self._items.move_to_end(key)
            return self._items[key]
        except KeyError:
            return None

    def put(self, key: str, item: T) -> T | None:
        """Keep `item`; what had to go for it, or None."""
        self._items[key] = item
        self._items.move_to_end(key)
        return self._items.popitem(last=False)[1] if len(self._items) > self._most else None

    def pop(self, key: str) -> T | None:
        return self._items.pop(key, None)

    def clear(self) -> list[T]:
        items = list(self._items.values())
        self._items.clear()
        return items
