"""Find locks whose holder is stopped, or has ended while a child process keeps the lock.

The system frees a lock when no process has the lock file open any more. A lock file alone therefore
says nothing; only `/proc/locks` says whether its lock is held.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from cortext.durability.file_lock import describe_process
from cortext.features.doctor.problem import WARNING, Problem

_HINT = "let it go on (`kill -CONT {pid}`), or end it if nobody needs it (`kill -9 {pid}`)"


class _Held(NamedTuple):
    pid: int
    path: str


def list_lock_files(folders: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the session lock files in folders that store sessions."""
    for folder in folders:
        for name in ("locks", "live"):
            side = f"{folder}/.cortext/{name}"
            try:
                with os.scandir(side) as entries:
                    yield from (entry.path for entry in entries if entry.is_file())
            except OSError:
                continue  # No session of this folder was locked yet.


def check_locks(files: Iterable[str]) -> list[Problem]:
    """Return a problem for each of these lock files whose holding process is stopped or has ended.

    A lock that a running process holds is no problem.
    """
    held = _held()
    if not held:
        return []
    problems: list[Problem] = []
    for path in files:
        try:
            found = os.stat(path)
        except OSError:
            continue  # Nobody can hold the lock of a file that cannot be examined.
        key = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        if key in held and (problem := _judge(_Held(held[key], path))):
            problems.append(problem)
    return problems


def _judge(held: _Held) -> Problem | None:
    state = _state(held.pid)
    who = describe_process(held.pid)
    since = _since(held.pid)
    if state in ("T", "t"):
        text = f"{held.path} is held by {who}, which is stopped{since}: others wait for it in vain"
        return Problem(text, _HINT.format(pid=held.pid), WARNING, held.path)
    if state in ("", "Z"):
        text = f"{held.path} is held for {who}, which has ended: one that it started has it open"
        hint = f"`fuser {held.path}` names it, and ending that frees the lock"
        if others := [describe_process(pid) for pid in _who_has_open(held.path)]:
            text = f"{text}: {', '.join(others)}"
            hint = "ending that frees the lock"
        return Problem(text, hint, WARNING, held.path)
    return None


def _held() -> dict[str, int]:
    """Return the process id that holds each locked file, by the file's device and inode."""
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [row.split() for row in file]
    except OSError:
        return {}
    return {row[5]: int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK"}


def _who_has_open(path: str) -> list[int]:
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


def _state(pid: int) -> str:
    """Return the state letter of a process from `/proc`; "" if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _since(pid: int) -> str:
    try:
        when = datetime.fromtimestamp(os.stat(f"/proc/{pid}").st_mtime, UTC).astimezone()
    except OSError:
        return ""
    return f" (it was started {when:%Y-%m-%d %H:%M})"
