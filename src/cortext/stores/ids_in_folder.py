"""Find the ids of the sessions in a folder by the names of the files."""

from __future__ import annotations

import errno
import os

from cortext.durability.durable_files import storage_errors
from cortext.errors import SessionStorageError
from cortext.model.ids import check_id
from cortext.stores.workspace_layout import is_folder


def session_names(folder: str, suffix: str) -> list[str]:
    """Return the ids of the sessions whose files are in a folder, sorted.

    The file of a session is named `{id}{suffix}`. Subfolders and files with other names are
    skipped. The result is empty if the folder does not exist.
    """
    try:
        with storage_errors("list", folder), os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(suffix) and not is_folder(e)]
    except SessionStorageError as error:
        if error.errno != errno.ENOENT:
            raise
        return []
    return sorted(stem for name in names if is_id(stem := name[: -len(suffix)]))


def is_id(name: str) -> bool:
    try:
        check_id(name)
    except ValueError:
        return False
    return True
