"""Locks between processes, made with flock on a separate lock file.

The lock file is never deleted. If it were, two processes could each lock a different file with the
same name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from types import TracebackType

from cortext.durability.durable_files import make_private_dir
from cortext.errors import SessionLockedError

DEFAULT_WAIT = 10.0
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_let_others_run = getattr(os, "sched_yield", lambda: time.sleep(0))
_BUSY_ERRORS = (errno.EWOULDBLOCK, errno.EACCES)


class FileLock:
    """A lock between processes, and between several FileLocks in one process. It is not reentrant.

    `with lock:` waits for the lock. If another process still holds the lock after `wait` seconds,
    SessionLockedError is raised.

    - `guards`: the path of the file that the lock protects, for the error message
    - `keep_open`: whether the lock file stays open between uses, until `close`
    - `shared`: whether other processes can hold the lock at the same time, if their locks are
      shared too
    """

    def __init__(
        self,
        path: str,
        *,
        guards: str = "",
        wait: float = DEFAULT_WAIT,
        keep_open: bool = False,
        shared: bool = False,
    ) -> None:
        self._path = path
        self._guards = guards or path
        self._wait = wait
        self._keep_open = keep_open
        self._kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self._fd = -1
        self._pid = 0

    def __enter__(self) -> FileLock:
        # A forked child shares the parent's open file, and therefore the parent's lock.
        if self._fd < 0 or self._pid != os.getpid():
            self._open()
        try:
            fcntl.flock(self._fd, self._kind | fcntl.LOCK_NB)
        except OSError as error:
            self._wait_if_busy(error)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Closing is not enough: a child forked in the meantime also has the file open.
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        if not self._keep_open:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def _open(self) -> None:
        self.close()
        try:
            self._fd = os.open(self._path, _OPEN, 0o600)
        except FileNotFoundError:
            make_private_dir(os.path.dirname(self._path))
            self._fd = os.open(self._path, _OPEN, 0o600)
        self._pid = os.getpid()

    def _wait_if_busy(self, error: OSError) -> None:
        try:
            if error.errno not in _BUSY_ERRORS:
                raise error
            self._wait_for_lock()
        except BaseException:
            self.close()
            raise

    def _wait_for_lock(self) -> None:
        start = time.monotonic()
        tries = 0
        while not try_flock(self._fd, self._kind):
            waited = time.monotonic() - start
            if waited >= self._wait:
                holder = holder_of(self._fd)
                raise SessionLockedError(self._guards, holder=holder, waited=self._wait)
            tries += 1
            if tries < 20:
                _let_others_run()
            else:
                time.sleep(min(20e-6 * tries, 0.02, max(self._wait - waited, 0)))


def try_flock(fd: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY_ERRORS:
            return False
        raise
    return True


def holder_of(fd: int) -> str:
    """Return a description of the process that locked an open file, such as "process 12 (python)".

    If the process is unknown, the description is "another process".
    """
    inode = f":{os.fstat(fd).st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as locks:
            rows = [row.split() for row in locks]
    except OSError:
        rows = []
    for row in rows:
        if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(inode):
            return describe_process(int(row[4]))
    return "another process"


def describe_process(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            name = comm.read().strip()
    except OSError:
        return f"process {pid}"
    return f"process {pid} ({name})"
