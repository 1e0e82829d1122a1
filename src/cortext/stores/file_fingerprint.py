"""Fingerprints of files, to notice that a file has changed."""

from __future__ import annotations

import os
from typing import NamedTuple


class Fingerprint(NamedTuple):
    """A file's inode, size and modification time, to notice that the file has changed.

    If two fingerprints of a file are the same, the content is the same too, because writers only
    replace files or append to them.
    """

    inode: int
    size: int
    mtime_ns: int

    def __str__(self) -> str:
        return f"{self.inode} {self.size} {self.mtime_ns}"

    @classmethod
    def of(cls, status: os.stat_result) -> Fingerprint:
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)

    @classmethod
    def at(cls, path: str) -> Fingerprint | None:
        """Return the fingerprint of the file at a path, or None if there is no file."""
        try:
            return cls.of(os.stat(path))
        except FileNotFoundError:
            return None
