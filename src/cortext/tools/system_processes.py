"""The processes of this machine: which processes started us, and when they started."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache

import msgspec

_DEEPEST = 64


class Process(msgspec.Struct, frozen=True):
    """A running process.

    `pid` is the process id, and `parent` is the process id of the parent. `started` is the start
    time in seconds since 1970. Together, `pid` and `started` identify a process.
    """

    pid: int
    parent: int
    started: float
    arguments: tuple[str, ...]


def find_process(pid: int) -> Process | None:
    """Return the process with this id, or None if the process does not exist or is hidden."""
    if os.path.isdir("/proc/self"):
        return _from_proc(pid)
    return _from_ps(pid)


def ancestors() -> Iterator[Process]:
    """Yield the parent of the current process, then the parent's parent, and so on."""
    pid = os.getppid()
    for _ in range(_DEEPEST):
        process = find_process(pid) if pid > 1 else None
        if process is None:
            return
        yield process
        pid = process.parent


def running_since(process: Process) -> float:
    """Return when a process started, for a comparison with the times of files.

    The time is in seconds since 1970. When the system clock is corrected, new files get times of
    the corrected clock, but `Process.started` stays the same. The result of this function is a time
    of the corrected clock.
    """
    if not os.path.isdir("/proc/self"):
        return process.started
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return process.started - _boot_time() + booted


def folder_of(pid: int) -> str:
    """Return the working folder of a process, or "" if it is unknown."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def _from_proc(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program is in brackets, and may contain brackets itself.
            fields = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return None
    started = _boot_time() + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return Process(pid, int(fields[1]), started, tuple(arguments))


@cache
def _boot_time() -> int:
    with open("/proc/stat", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"btime"))


def _from_ps(pid: int) -> Process | None:
    import subprocess
    from datetime import datetime

    command = ["ps", "-o", "ppid=,lstart=,args=", "-p", str(pid)]
    environment = {"PATH": "/bin:/usr/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=5, check=True)
        parent, *rest = os.fsdecode(done.stdout).split()
        started = datetime.strptime(" ".join(rest[1:5]), "%b %d %H:%M:%S %Y")  # noqa: DTZ007  local
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Process(pid, int(parent), started.timestamp(), tuple(rest[5:]))
