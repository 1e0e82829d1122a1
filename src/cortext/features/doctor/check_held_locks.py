"""Find locks that nobody will free soon.

Either the process that took the lock is stopped, or this process has ended and one of its children
still has the lock file open. The system frees a lock only when no process has the lock file open. A
lock file also exists while its lock is free, so only `/proc/locks` says which locks are held.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from cortext.durability.file_lock import describe_process
from cortext.features.doctor.check_results import WARNING, Problem

_HINT = "continue the process with `kill -CONT {pid}`, or end it with `kill -9 {pid}`"


class _HeldLock(NamedTuple):
    pid: int
    path: str


def list_lock_files(folders: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the lock files of all sessions in these folders."""
    for folder in folders:
        for name in ("locks", "live"):
            side = f"{folder}/.cortext/{name}"
            try:
                with os.scandir(side) as entries:
                    yield from (entry.path for entry in entries if entry.is_file())
            except OSError:
                continue  # No session of this folder was locked yet.


def check_locks(files: Iterable[str]) -> list[Problem]:
    """Return a problem for each held lock whose process is stopped or has ended.

    `files` are the lock files to check. A lock that a running process holds is no problem.
    """
    holders = _read_held_locks()
    if not holders:
        return []
    problems: list[Problem] = []
    for path in files:
        try:
            found = os.stat(path)
        except OSError:
            continue  # Nobody can hold the lock of a file that cannot be examined.
        key = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        if key in holders and (problem := _describe_lock(_HeldLock(holders[key], path))):
            problems.append(problem)
    return problems


def _describe_lock(lock: _HeldLock) -> Problem | None:
    state = _process_state(lock.pid)
    who = describe_process(lock.pid)
    since = _describe_start(lock.pid)
    if state in ("T", "t"):
        text = f"{lock.path} is locked by {who}, which is stopped{since}; other processes must wait"
        return Problem(text, _HINT.format(pid=lock.pid), WARNING, lock.path)
    if state in ("", "Z"):
        text = f"{lock.path} is locked: {who} has ended, but a process that it started has it open"
        hint = f"find the process with `fuser {lock.path}`, and end it to free the lock"
        if others := [describe_process(pid) for pid in _find_openers(lock.path)]:
            text = f"{text}: {', '.join(others)}"
            hint = "end that process to free the lock"
        return Problem(text, hint, WARNING, lock.path)
    return None


def _read_held_locks() -> dict[str, int]:
    """Return the id of the process that holds each file lock on this machine.

    The keys name the locked files by device and inode, in the form of `/proc/locks`.
    """
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [row.split() for row in file]
    except OSError:
        return {}
    return {row[5]: int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK"}


def _find_openers(path: str) -> list[int]:
    """Return the ids of this user's processes that have a file open."""
    wanted = os.path.realpath(path)
    found: list[int] = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fds = os.listdir(f"/proc/{pid}/fd")
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") == wanted for fd in fds):
                found.append(int(pid))
        except OSError:
            continue  # The process ended, or belongs to another user.
    return found


def _process_state(pid: int) -> str:
    """Return the state letter of a process from `/proc`; "" if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _describe_start(pid: int) -> str:
    try:
        when = datetime.fromtimestamp(os.stat(f"/proc/{pid}").st_mtime, UTC).astimezone()
    except OSError:
        return ""
    return f" (started {when:%Y-%m-%d %H:%M})"
