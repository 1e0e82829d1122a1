"""Export a session to one file, which `cortext import` can read back."""

from __future__ import annotations

import errno
import glob
import os
import re
import time

from cortext import paths
from cortext.durability.disk_sync import sync_dir
from cortext.durability.durable_files import (
    link_or_copy,
    remove_if_there,
    replace,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.errors import CortextError, SessionStorageError
from cortext.model.ids import check_workspace_id

_SUFFIX_ALIASES = {"htm": "html", "markdown": "md", "ndjson": "jsonl"}
FORMATS = ("md", "html", "json", "jsonl")
_TEMP = re.compile(r".*\.[0-9a-f]{16}\.tmp", re.DOTALL)
"""Matches the names of cortext's temp files, which the function `temp_name` creates."""
_ABANDONED_SECONDS = 3600.0
"""Seconds after which a temp file counts as abandoned."""


def format_for(path: str) -> str:
    """Return the export format for the suffix of a path; "md" if there is no suffix.

    Raises CortextError for an unknown suffix.
    """
    suffix = os.path.splitext(path)[1][1:].lower()
    name = _SUFFIX_ALIASES.get(suffix, suffix) or "md"
    if name not in FORMATS:
        raise CortextError(
            f"{path} has the suffix .{suffix}, which is not an export format",
            hint=f"choose a format with --format: {', '.join(FORMATS)}",
        )
    return name


def target_file(given: str, id: str, format: str) -> str:
    """Return the path of the export file to write.

    If `given` is a folder or ends with a slash, the file is in this folder. Its name is made of
    `id` and `format`, such as `order-17.md`. A missing folder is created. In all other cases,
    `given` itself is the path of the file.
    """
    if given.endswith("/") or os.path.isdir(given):
        with storage_errors("make", given):
            os.makedirs(given, exist_ok=True)
        name = check_workspace_id(id).rpartition("/")[2]
        return os.path.join(given, f"{name}.{format}")
    return given


def write_export(path: str, data: bytes, *, overwrite: bool) -> None:
    """Write an export file completely or not at all. Only its owner can read it.

    If the file exists and `overwrite` is false, raise SessionStorageError. If `path` is a device or
    a pipe, the data is written to it directly.
    """
    folder = os.path.dirname(path) or "."
    if not os.path.lexists(folder):
        raise SessionStorageError(
            f"could not write {path}: there is no folder {folder}",
            path=path,
            errno=errno.ENOENT,
            hint="create the folder first, or give the name of another file",
        )
    with storage_errors("write", path):
        if overwrite and os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        try:
            _write_file(path, data, _choose_temp_dir(folder, path), overwrite=overwrite)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _write_file(path, data, folder, overwrite=overwrite)


def _choose_temp_dir(folder: str, path: str) -> str:
    """Return the folder for the temp file of an export.

    `path` is the export to write, and `folder` is its folder. Usually return a folder of cortext,
    where `cortext doctor` finds abandoned temp files. If that folder is on another disk or not
    writable, return `folder`, and remove abandoned temp files of earlier exports from it.
    """
    own_folder = os.path.dirname(paths.archive())
    try:
        if os.stat(own_folder).st_dev == os.stat(folder).st_dev and os.access(
            own_folder, os.W_OK | os.X_OK
        ):
            return own_folder
    except FileNotFoundError:
        pass  # One of the two folders is missing. If it is the target, the write reports that.
    limit = time.time() - _ABANDONED_SECONDS
    for temp in glob.iglob(f"{glob.escape(folder)}/.{glob.escape(os.path.basename(path)[:100])}.*"):
        if _TEMP.fullmatch(temp) and os.lstat(temp).st_mtime < limit:
            remove_if_there(temp)
    return folder


def _write_file(path: str, data: bytes, temp_dir: str, *, overwrite: bool) -> None:
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
            f"{path} already exists",
            path=path,
            hint="use --force to overwrite it, or -o to name another file",
        ) from None
    finally:
        remove_if_there(temp)
    sync_dir(folder or ".")
