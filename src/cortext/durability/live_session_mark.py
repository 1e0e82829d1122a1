"""Marks that show which process has a session open.

A mark is a lock file that a process keeps locked while it has the session open. The file contains
the id of the process.
"""

from __future__ import annotations

import fcntl
import os

from cortext.durability.durable_files import make_private_dir, write_all
from cortext.durability.file_lock import describe_process, try_flock

_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class LiveMark:
    """A lock file that shows other processes that this process has a session open.

    The operating system releases the lock when the process ends.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def take(self) -> str | None:
        """Lock the file. Return None, or a description of the other process that has the lock.

        A description is a text such as "process 12 (python)".
        """
        if self._fd >= 0:
            return None
        make_private_dir(os.path.dirname(self._path))
        fd = os.open(self._path, _OPEN, 0o600)
        # Try several times: `live_holder` in another process may hold the lock for an instant.
        if not any(try_flock(fd) for _ in range(3)):
            holder = _describe_holder(fd)
            os.close(fd)
            return holder
        os.ftruncate(fd, 0)
        write_all(fd, f"{os.getpid()}\n".encode())
        self._fd = fd
        return None

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        if self._fd >= 0:
            # Closing is not enough: a child forked in the meantime also has the file open.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1


def mark_path(folder: str, id: str = "") -> str:
    """Return the path of the lock file for a session that is stored in `folder`.

    If `id` is empty, return the path of the folder that contains the lock files.
    """
    return f"{folder}/.cortext/live/{id}"


def live_holder(path: str) -> str | None:
    """Describe the process that has a session open, in a text such as "process 12 (python)".

    Return None if no process has the session open. `path` is the path of the session's lock file.
    Nothing is written.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if try_flock(fd, fcntl.LOCK_SH) else _describe_holder(fd)
    finally:
        os.close(fd)


def _describe_holder(fd: int) -> str:
    text = os.pread(fd, 32, 0).strip()
    return describe_process(int(text)) if text.isdigit() else "another process"
