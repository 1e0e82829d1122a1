"""System calls that force written data to stable storage."""

from __future__ import annotations

import fcntl
import os
import sys

if sys.platform == "darwin":

    def sync_file(fd: int) -> None:
        """Put the file's data on stable storage. On macOS, fsync leaves it in the drive's cache."""
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)

    sync_data = sync_file
else:

    def sync_file(fd: int) -> None:
        """Put the file's data and metadata on stable storage."""
        os.fsync(fd)

    def sync_data(fd: int) -> None:
        """Put the file's data on stable storage, with only the metadata needed to read it."""
        os.fdatasync(fd)


def sync_dir(path: str) -> None:
    """Put the names of the files in a folder on stable storage."""
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
