"""The log of errors in hooks and background processes, which cannot show errors to the user.

`cortext doctor` shows this log.
"""

from __future__ import annotations

import os
import time

from cortext import paths
from cortext.durability.durable_files import make_private_dir

_MAX_BYTES = 256 << 10
_TAIL_BYTES = 64 << 10


def write_error(doing: str, error: BaseException) -> None:
    """Append an error to the log that `cortext doctor` shows.

    `doing` says what the process was doing. If the log is too large, its oldest entries are removed
    first. If the log cannot be written, do nothing.
    """
    message = " ".join(str(error).split())[:1000]
    timestamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{timestamp} {doing}: {type(error).__name__}: {message}\n".encode("utf-8", "replace")
    path = paths.log_file()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        make_private_dir(os.path.dirname(path))
        fd = os.open(path, flags, 0o600)
    except OSError:
        return
    try:
        size = os.fstat(fd).st_size
        if size > _MAX_BYTES:
            tail = os.pread(fd, _TAIL_BYTES, size - _TAIL_BYTES).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            os.write(fd, tail)
        os.write(fd, line)
    except OSError:
        return
    finally:
        os.close(fd)


def last_errors(count: int = 20) -> list[str]:
    """Return the last `count` lines of the error log, oldest first; [] if there is no log."""
    try:
        with open(paths.log_file(), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    return [line for line in lines if line][-count:]
