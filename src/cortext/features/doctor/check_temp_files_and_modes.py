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
from cortext.features.doctor.check_results import (
    NOTHING,
    WARNING,
    CheckResult,
    Problem,
    Repair,
    Repaired,
)

_ABANDONED_SECONDS = 3600.0
"""Seconds after which a temp file counts as abandoned."""
_OTHERS_MODE = 0o077
_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp")
"""Matches the names of cortext's temp files, which the function `temp_name` creates."""


def find_temp_files(folders: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return the paths of cortext's temp files that did not change for an hour.

    Search `folders`, and also check the paths in `others`, which are temp files elsewhere.
    """
    limit = time.time() - _ABANDONED_SECONDS
    names = (entry for folder in folders for entry in _entries(folder))
    temps = {entry.path for entry in names if _TEMP.fullmatch(entry.name)}
    return sorted(path for path in temps.union(others) if _mtime(path) < limit)


def check_temp_files(found: Sequence[str]) -> CheckResult:
    """Return one problem for all abandoned temp files in `found`.

    The repair moves the files to the trash.
    """
    if not found:
        return NOTHING
    text = f"{_count(found, 'temp file')} of killed processes: {_name_first(found)}"
    mend = f"move {_count(found, 'abandoned temp file')} to the trash"
    hint = "`cortext doctor --fix` moves them to the trash"
    problem = Problem(text, hint, WARNING, found[0], mend=mend)
    return CheckResult([problem], Repair(mend, partial(_move_to_trash, list(found))))


def _move_to_trash(found: list[str]) -> Repaired | None:
    limit = time.time() - _ABANDONED_SECONDS
    remaining = [path for path in found if os.path.lexists(path) and _mtime(path) < limit]
    if not remaining:
        return None
    entry = Trash(paths.trash()).put("temp files of killed processes", remaining)
    trash_path = os.path.join(paths.trash(), entry.id)
    return Repaired(f"moved to the trash: {_name_first(remaining)}", [trash_path])


def check_trash() -> list[Problem]:
    """Return a problem for each entry in the trash whose original path is unknown."""
    listed = {entry.id for entry in Trash(paths.trash()).list()}
    lost = [entry.path for entry in _entries(paths.trash()) if entry.name not in listed]
    return [
        Problem(
            f"{path} is in the trash, but the note with its original path cannot be read",
            "look at its contents, and move what you need back by hand",
            WARNING,
            path,
        )
        for path in lost
    ]


def find_readable_by_others(folders: Iterable[str]) -> Iterator[str]:
    """Search folders at any depth, and yield the paths that other users may read or change.

    The folders themselves are included.
    """
    for folder in folders:
        if _is_open_to_others(folder):
            yield folder
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from find_readable_by_others([entry.path])
            elif _is_open_to_others(entry.path):
                yield entry.path


def filter_readable_by_others(found: Iterable[str]) -> list[str]:
    """Return the paths that other users may read or change."""
    return [path for path in found if _is_open_to_others(path)]


def check_modes(what: str, found: Sequence[str]) -> CheckResult:
    """Return one problem for all the paths in `found`, which other users can read or change.

    `what` names their contents, such as "keys". The repair removes the permissions of other users.
    """
    if not found:
        return NOTHING
    count = _count(found, "path")
    text = f"other users can read or change {count} with {what}: {_name_first(found)}"
    mend = f"make {count} with {what} accessible only to you"
    hint = "`cortext doctor --fix` makes them accessible only to you"
    problem = Problem(text, hint, WARNING, found[0], mend=mend)
    return CheckResult([problem], Repair(mend, partial(_remove_permissions, list(found), what)))


def _remove_permissions(found: list[str], what: str) -> Repaired | None:
    closed: list[str] = []
    for path in found:
        if _is_open_to_others(path):
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            os.chmod(path, mode & ~_OTHERS_MODE)
            closed.append(f"{path} had {mode:03o}")
    if not closed:
        return None
    did = f"only you can access {_count(closed, 'path')} with {what} now: {_name_first(closed)}"
    return Repaired(did, [])


def _is_open_to_others(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False  # The file is gone, or its own check reports why it cannot be examined.
    kind = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return kind and found.st_uid == os.getuid() and bool(found.st_mode & _OTHERS_MODE)


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


def _count(found: Sequence[str], word: str) -> str:
    return f"{len(found)} {word}" if len(found) == 1 else f"{len(found)} {word}s"


def _name_first(found: Sequence[str]) -> str:
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{', '.join(found[:3])}{more}"
