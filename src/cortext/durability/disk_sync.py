"""Telling the disk to keep what it was given."""

from __future__ import annotations

import fcntl
import os
import sys

if sys.platform == "darwin":

    def sync_file(fd: int) -> None:
        """What was written to the file is on stable storage: here fsync alone does not say so."""
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)

    sync_data = sync_file
else:

    def sync_file(fd: int) -> None:
        """What was written to the file, and what the system knows of it, is on stable storage."""
        os.fsync(fd)

    def sync_data(fd: int) -> None:
        """What was written to the file is on stable storage, and can be found there."""
        os.fdatasync(fd)


def sync_dir(path: str) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
