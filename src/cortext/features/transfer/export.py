"""Export a session to one file, which `cortext import` can read back."""

from __future__ import annotations

import errno
import glob
import os
import re
import time

from cortext import paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.replace_file import (
    link_or_copy,
    remove_if_there,
    replace,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.errors import CortextError, SessionStorageError
from cortext.model.ids import check_workspace_id

_ENDINGS = {"htm": "html", "markdown": "md", "ndjson": "jsonl"}
FORMATS = ("md", "html", "json", "jsonl")
_TEMP = re.compile(r".*\.[0-9a-f]{16}\.tmp", re.DOTALL)
"""The names of cortext's temp files, as `temp_name` makes them."""
_ABANDONED = 3600.0
"""Seconds after which a temp file counts as abandoned."""


def format_for(path: str) -> str:
    """Return the export format for the suffix of a path; "md" if there is no suffix.

    Raises CortextError for an unknown suffix.
    """
    ending = os.path.splitext(path)[1][1:].lower()
    found = _ENDINGS.get(ending, ending) or "md"
    if found not in FORMATS:
        raise CortextError(
            f"{path} ends in .{ending}, and that is no format of ours",
            hint=f"--format says which it is: {', '.join(FORMATS)}",
        )
    return found


def target_file(given: str, id: str, format: str) -> str:
    """Return the path of the export file to write.

    If `given` is a folder, the file is named after the session `id`. Otherwise it is `given`. A
    path that ends with a slash is a folder, which is created if it is missing.
    """
    if given.endswith("/") or os.path.isdir(given):
        with storage_errors("make", given):
            os.makedirs(given, exist_ok=True)
        name = check_workspace_id(id).rpartition("/")[2]
        return os.path.join(given, f"{name}.{format}")
    return given


def write_export(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write an export file that only its owner can read: the complete file or nothing.

    Without `overwrite`, raise SessionStorageError if the file exists. A device or pipe is written
    directly.
    """
    folder = os.path.dirname(path) or "."
    with storage_errors("write", path):
        if overwrite and os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        try:
            _put(path, data, _begin_in(folder, path), overwrite=overwrite)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _put(path, data, folder, overwrite=overwrite)


def _begin_in(folder: str, path: str) -> str:
    """Return the folder for the temp file.

    Usually this is a folder of cortext, in which `cortext doctor` finds abandoned temp files. If it
    is on another disk or not writable, return the target folder `folder`, and remove abandoned temp
    files there.
    """
    ours = os.path.dirname(paths.archive())
    try:
        if os.stat(ours).st_dev == os.stat(folder).st_dev and os.access(ours, os.W_OK | os.X_OK):
            return ours
    except FileNotFoundError:
        pass  # No folder of cortext yet, or no target folder, which the write reports.
    limit = time.time() - _ABANDONED
    for temp in glob.iglob(f"{glob.escape(folder)}/.{glob.escape(os.path.basename(path)[:100])}.*"):
        if _TEMP.fullmatch(temp) and os.lstat(temp).st_mtime < limit:
            remove_if_there(temp)
    return folder


def _put(path: str, data: bytes, temp_dir: str, *, overwrite: bool) -> None:
    if overwrite:
        replace(path, [data], temp_dir=temp_dir)
        return
    folder, name = os.path.split(path)
    temp = os.path.join(temp_dir, temp_name(name))
    try:
        write_new(temp, [data])
        link_or_copy(temp, path)
    except FileExistsError:
        raise SessionStorageError(
            f"{path} is there already",
            path=path,
            hint="--force writes over it, -o names another file",
        ) from None
    finally:
        remove_if_there(temp)
    sync_dir(folder or ".")
