"""Find and remove temp files that killed processes left.

The temp files may contain secrets that are redacted in the real files.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.durability.replace_file import remove_if_there
from cortext.features.archive.archive_copies import temp_dir
from cortext.features.secrets.file_readers import noting
from cortext.stores.workspace_layout import conversations_dir
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import archive_home

_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp")
_RESTS = 1.0
"""Seconds without a change after which a closed temp file counts as abandoned.

A writer renames its temp file directly after the last change.
"""
_UNSEEN = 60.0
"""Seconds to use instead of `_RESTS` if the system does not say which files are open."""


def temp_folders(row: ConversationRow) -> list[str]:
    """Return the folders in which temp files of a conversation or session may be."""
    if row.is_standalone:
        folder = os.path.dirname(row.path)
        return [f"{folder}/.cortext", folder]
    if row.tool:
        return [os.path.dirname(row.path)] if row.path.startswith(f"{paths.trash()}/") else []
    place = row.place
    own = [place.shelf, os.path.dirname(place.folder), place.folder, place.session]
    return [f"{conversations_dir(row.workspace)}/.cortext", *own]


def archive_temp_folders() -> list[str]:
    """Return the folders in which temp files of the archive may be."""
    known = os.path.join(paths.archive(), ".known")
    return [temp_dir(), paths.archive(), known, *map(archive_home, tool_names()), paths.trash()]


def is_temp(name: str) -> bool:
    """Return whether a file name is that of a temp file, as `temp_name` makes it."""
    return bool(_TEMP.fullmatch(name))


def temps(folders: Iterable[str]) -> list[str]:
    """Return the paths of the temp files and temp folders directly in these folders."""
    found: list[str] = []
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        found += [os.path.join(folder, name) for name in names if is_temp(name)]
    return found


def files_in(path: str, unread: list[str] | None = None) -> Iterator[str]:
    """Yield the files in a temp folder, or the temp file itself, but no links.

    A folder that cannot be read is added to `unread`.
    """
    if os.path.isfile(path) and not os.path.islink(path):
        yield path
    for folder, _, names in os.walk(path, onerror=noting(unread)):
        whole = (os.path.join(folder, name) for name in sorted(names))
        yield from (each for each in whole if os.path.isfile(each) and not os.path.islink(each))


def sweep(folders: Iterable[str]) -> list[str]:
    """Remove the temp files in these folders that nobody writes to; return the other temp files.

    Wait up to three seconds for recent temp files, because their writer may finish. If a writer
    was only stopped, its write fails later and nothing is lost.
    """
    end = time.monotonic() + 3 * _RESTS
    left = temps(folders)
    while left:
        open_now = _open_files()
        left = [path for path in left if not _swept(path, open_now)]
        if not left or time.monotonic() > end:
            break
        time.sleep(0.1)
    return left


def _swept(path: str, open_now: set[str] | None) -> bool:
    parts = [path, *files_in(path)]
    rests = _RESTS if open_now is not None else _UNSEEN
    try:
        changed = max(max(found.st_mtime, found.st_ctime) for found in map(os.lstat, parts))
    except FileNotFoundError:
        return not os.path.lexists(path)
    if time.time() - changed < rests or (
        open_now and open_now.intersection(map(os.path.realpath, parts))
    ):
        return False
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        remove_if_there(path)
    return True


def _open_files() -> set[str] | None:
    """Return the files that processes of this user have open; None if the system does not say."""
    if not os.path.isdir("/proc/self/fd"):
        return None
    found: set[str] = set()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            found.update(_open_in(f"/proc/{name}/fd"))
    return found


def _open_in(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return  # the process belongs to another user, or has ended
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            continue  # the file was closed meanwhile
