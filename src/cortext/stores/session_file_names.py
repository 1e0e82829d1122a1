"""The names of session files."""

from __future__ import annotations

import errno
import os

from cortext.durability.replace_file import storage_errors
from cortext.errors import SessionStorageError
from cortext.model.ids import check_id
from cortext.stores.workspace_layout import is_folder


def session_names(folder: str, suffix: str) -> list[str]:
    """Return the ids of the session files in a folder, sorted.

    A file named `{id}{suffix}` is a session file. Folders and files with any other name are
    skipped. A folder that does not exist has no session files.
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
