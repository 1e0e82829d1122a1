"""System calls that force written data to stable storage."""

from __future__ import annotations

import fcntl
import os
import sys

if sys.platform == "darwin":

    def sync_file(fd: int) -> None:
        """Force an open file to stable storage.

        This uses F_FULLFSYNC, because `os.fsync` on macOS writes only to the drive's cache.
        """
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)

    sync_data = sync_file
else:

    def sync_file(fd: int) -> None:
        """Force the data and metadata of an open file to stable storage."""
        os.fsync(fd)

    def sync_data(fd: int) -> None:
        """Force the data and the size of an open file to stable storage, but not its times."""
        os.fdatasync(fd)


def sync_dir(path: str) -> None:
    """Force the list of files in a folder to stable storage.

    This is necessary after files were added or renamed.
    """
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
