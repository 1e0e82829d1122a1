"""The faults of a campaign: what goes wrong, at which calls, and for how long."""

import errno
import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.faults.gate import GO_ON, Held, Verdict, shorter

_READS = frozenset({"read", "pread64"})
_OPENS = frozenset({"open", "openat"})
_WRITES = frozenset({"write", "pwrite64", "writev", "sendfile", "copy_file_range", "ftruncate"})
_SYNCS = frozenset({"fsync", "fdatasync"})
_LINKS = frozenset(
    {"rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir"}
    | {"mkdirat"}
)
_REMOVALS = frozenset({"unlink", "unlinkat", "rmdir"})
_SHORT = frozenset({"write", "pwrite64"})
_DELAY, _DELAYS = 0.3, 0.02
"""Seconds of one late sync, and of each of many."""


def _of(calls: frozenset[str]) -> Callable[[Held], bool]:
    return lambda held: held.name in calls


def _changes(held: Held) -> bool:
    return held.writes or held.name in _WRITES | _SYNCS | _LINKS | _REMOVALS


def _takes_space(held: Held) -> bool:
    return held.writes or held.name in _WRITES | _SYNCS | _LINKS


def _refused(held: Held) -> bool:
    """What a read-only file system refuses; a file that is open for writing was opened before."""
    return held.writes or held.name in _LINKS | _REMOVALS


def _waits(held: Held) -> bool:
    """What a signal may interrupt; no file system has anybody wait for a folder to be opened."""
    return not held.is_folder and held.name in _READS | _OPENS | _WRITES | _SYNCS | {"flock"}


KINDS: dict[str, Callable[[Held], bool]] = {
    "SIGKILL": _changes,
    "EIO": _of(_READS | _OPENS | _WRITES | _SYNCS | _LINKS | _REMOVALS),
    "ENOSPC": _takes_space,
    "EDQUOT": _takes_space,
    "EMFILE": _of(_OPENS),
    "EROFS": _refused,
    "EINTR": _waits,
    "short write": _of(_SHORT),
    "late sync": _of(_SYNCS),
}


class Fault(NamedTuple):
    """The `at`-th call of those that a kind concerns goes wrong; if it lasts, all after it too."""

    kind: str
    at: int
    lasts: bool

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}{' and ever after' if self.lasts else ''}"


class Judging:
    """Judges the calls on files below a folder. `counts` tells how many calls each kind concerned,
    `changed` which files those were that a kill would come before, `fired` how many went wrong."""

    def __init__(self, folder: str, fault: Fault | None = None) -> None:
        self._folder, self._fault = f"{folder}/", fault
        self.counts = dict.fromkeys(KINDS, 0)
        self.changed: list[str] = []
        self.fired = 0
        self.where = ""

    def __call__(self, held: Held) -> Verdict | None:
        concerned = [kind for kind, concerns in KINDS.items() if concerns(held)]
        if not concerned or not (path := held.path()).startswith(self._folder):
            return GO_ON
        for kind in concerned:
            self.counts[kind] += 1
        if "SIGKILL" in concerned:
            self.changed.append(path)
        fault = self._fault
        if fault is None or fault.kind not in concerned:
            return GO_ON
        number = self.counts[fault.kind]
        if number != fault.at and not (fault.lasts and number > fault.at):
            return GO_ON
        # A signal that never ends would be a program that never ends; and git takes one for an
        # error, which no file system that it is used on gives it.
        if fault.kind == "EINTR" and ("/.git/" in path or (number - fault.at) % 2):
            return GO_ON
        self.fired += 1
        self.where = self.where or f"{held.name} {path.removeprefix(self._folder)}"
        return _done(fault, held)


def _done(fault: Fault, held: Held) -> Verdict | None:
    if fault.kind == "SIGKILL":
        os.kill(held.pid, signal.SIGKILL)
        return None
    if fault.kind == "short write":
        return shorter(held)
    if fault.kind == "late sync":
        time.sleep(_DELAYS if fault.lasts else _DELAY)
        return GO_ON
    return Verdict(error=getattr(errno, fault.kind))
