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
from cortext.durability.durable_files import remove_if_there
from cortext.features.archive.archive_copy_states import temp_dir
from cortext.features.secrets.text_pieces import collect_unreadable
from cortext.stores.workspace_layout import conversations_dir
from cortext.tools.registry import tool_names
from cortext.tools.transcript_folders import archive_home

_TEMP = re.compile(r"\..*\.[0-9a-f]{16}\.tmp")
_IDLE_SECONDS = 1.0
"""Seconds without a change after which a closed temp file counts as abandoned.

A writer renames its temp file directly after the last change.
"""
_IDLE_SECONDS_IF_UNKNOWN = 60.0
"""Seconds without a change after which a temp file counts as abandoned, if it may still be open.

Some systems do not say which files are open.
"""


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
    """Return whether a file name has the form that `replace_file.temp_name` gives to temp files."""
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
    """Yield the paths of the files in a temp folder. If `path` is a temp file, yield only `path`.

    Links are skipped. If a folder cannot be read, add it to `unread`.
    """
    if os.path.isfile(path) and not os.path.islink(path):
        yield path
    for folder, _, names in os.walk(path, onerror=collect_unreadable(unread)):
        candidates = (os.path.join(folder, name) for name in sorted(names))
        yield from (
            each for each in candidates if os.path.isfile(each) and not os.path.islink(each)
        )


def sweep(folders: Iterable[str]) -> list[str]:
    """Remove the abandoned temp files in these folders, and return the temp files that remain.

    Wait up to three seconds for recent temp files, because a process may still be writing them. A
    suspended process may lose its temp file. When the process continues, its write fails, and
    nothing is lost.
    """
    end = time.monotonic() + 3 * _IDLE_SECONDS
    remaining = temps(folders)
    while remaining:
        open_now = _open_files()
        remaining = [path for path in remaining if not _remove_if_abandoned(path, open_now)]
        if not remaining or time.monotonic() > end:
            break
        time.sleep(0.1)
    return remaining


def _remove_if_abandoned(path: str, open_now: set[str] | None) -> bool:
    parts = [path, *files_in(path)]
    idle_seconds = _IDLE_SECONDS if open_now is not None else _IDLE_SECONDS_IF_UNKNOWN
    try:
        changed = max(max(found.st_mtime, found.st_ctime) for found in map(os.lstat, parts))
    except FileNotFoundError:
        return not os.path.lexists(path)
    if time.time() - changed < idle_seconds or (
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
            found.update(_open_files_of(f"/proc/{name}/fd"))
    return found


def _open_files_of(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return  # the process belongs to another user, or has ended
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            continue  # the file was closed meanwhile
