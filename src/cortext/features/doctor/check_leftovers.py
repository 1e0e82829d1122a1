"""Check for temp files of killed processes, and for private files that other users can read."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from cortext import paths
from cortext.durability.trash_folder import Trash
from cortext.features.doctor.problem import NOTHING, WARNING, CheckResult, Problem, Repair, Repaired

_ABANDONED = 3600.0
"""Seconds after which a temp file counts as abandoned."""
_OTHERS = 0o077
_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp")
"""The names of cortext's temp files, as `temp_name` makes them."""


def find_temp_files(folders: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return the abandoned temp files of cortext in these folders, and those among `others`.

    `others` are paths of further temp files. A temp file is abandoned after an hour.
    """
    limit = time.time() - _ABANDONED
    names = (entry for folder in folders for entry in _entries(folder))
    temps = {entry.path for entry in names if _TEMP.fullmatch(entry.name)}
    return sorted(path for path in temps.union(others) if _mtime(path) < limit)


def check_temp_files(found: Sequence[str]) -> CheckResult:
    """Return one problem for all these abandoned temp files; its repair moves them to the trash."""
    if not found:
        return NOTHING
    text = f"{_counted(found, 'temp file')} of processes that were killed: {_some(found)}"
    mend = f"move {_counted(found, 'abandoned temp file')} to the trash"
    hint = "`cortext doctor --fix` moves them to the trash"
    problem = Problem(text, hint, WARNING, found[0], mend=mend)
    return CheckResult([problem], Repair(mend, partial(_move, list(found))))


def _move(found: list[str]) -> Repaired | None:
    limit = time.time() - _ABANDONED
    there = [path for path in found if os.path.lexists(path) and _mtime(path) < limit]
    if not there:
        return None
    entry = Trash(paths.trash()).put("temp files of processes that were killed", there)
    kept = os.path.join(paths.trash(), entry.id)
    return Repaired(f"moved to the trash: {_some(there)}", [kept])


def check_trash() -> list[Problem]:
    """Return a problem for each entry in the trash whose original path is unknown."""
    listed = {entry.id for entry in Trash(paths.trash()).list()}
    lost = [entry.path for entry in _entries(paths.trash()) if entry.name not in listed]
    return [
        Problem(
            f"{path} is in the trash, and its note cannot be read: where was it?",
            "look into it, and move what you need to where it was",
            WARNING,
            path,
        )
        for path in lost
    ]


def find_readable_by_others(folders: Iterable[str]) -> Iterator[str]:
    """Yield these folders and the paths below them that other users may read or change."""
    for folder in folders:
        if _is_open(folder):
            yield folder
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from find_readable_by_others([entry.path])
            elif _is_open(entry.path):
                yield entry.path


def filter_readable_by_others(found: Iterable[str]) -> list[str]:
    """Return the paths that other users may read or change."""
    return [path for path in found if _is_open(path)]


def check_modes(what: str, found: Sequence[str]) -> CheckResult:
    """Return one problem for all these paths, which other users can read or change.

    `what` names their contents, such as "keys". The repair removes the permissions of other users.
    """
    if not found:
        return NOTHING
    count = _counted(found, "place")
    text = f"other users can read or change {count} with {what}: {_some(found)}"
    mend = f"take the rights of other users on {count} with {what} away"
    hint = "`cortext doctor --fix` leaves them to you alone"
    problem = Problem(text, hint, WARNING, found[0], mend=mend)
    return CheckResult([problem], Repair(mend, partial(_close, list(found), what)))


def _close(found: list[str], what: str) -> Repaired | None:
    closed: list[str] = []
    for path in found:
        if _is_open(path):
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            os.chmod(path, mode & ~_OTHERS)
            closed.append(f"{path} had {mode:03o}")
    if not closed:
        return None
    did = f"{_counted(closed, 'place')} with {what}, now yours alone: {_some(closed)}"
    return Repaired(did, [])


def _is_open(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False  # The file is gone, or its own check reports why it cannot be examined.
    kind = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return kind and found.st_uid == os.getuid() and bool(found.st_mode & _OTHERS)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # The folder does not exist, or this user may not read it.


def _mtime(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time()


def _counted(found: Sequence[str], word: str) -> str:
    return f"{len(found)} {word}" if len(found) == 1 else f"{len(found)} {word}s"


def _some(found: Sequence[str]) -> str:
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{', '.join(found[:3])}{more}"
