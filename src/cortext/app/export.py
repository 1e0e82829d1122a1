"""Exporting: a session as one file that people read, programs read, and `import` reads back."""

from __future__ import annotations

import os

from cortext.durability.replace import (
    link_or_copy,
    remove_if_there,
    replace,
    storage_errors,
    temp_name,
    write_new,
)
from cortext.durability.sync import sync_dir
from cortext.errors import CortextError, SessionStorageError
from cortext.model.ids import check_workspace_id

_ENDINGS = {"htm": "html", "markdown": "md", "ndjson": "jsonl"}
FORMATS = ("md", "html", "json", "jsonl")


def format_for(path: str) -> str:
    """The format that the name of a file asks for; markdown, if it asks for none."""
    ending = os.path.splitext(path)[1][1:].lower()
    found = _ENDINGS.get(ending, ending) or "md"
    if found not in FORMATS:
        raise CortextError(
            f"{path} ends in .{ending}, and that is no format of ours",
            hint=f"--format says which it is: {', '.join(FORMATS)}",
        )
    return found


def target_file(given: str, id: str, format: str) -> str:
    """The file to write: the one that is given, or one named after the session in a folder.

    A name with a slash at its end is a folder's, and that is made if it is missing.
    """
    if given.endswith("/") or os.path.isdir(given):
        with storage_errors("make", given):
            os.makedirs(given, exist_ok=True)
        name = check_workspace_id(id).rpartition("/")[2]
        return os.path.join(given, f"{name}.{format}")
    return given


def write_export(path: str, data: bytes, *, overwrite: bool) -> None:
    """The file, whole or not at all, for its owner only.

    Without `overwrite`, SessionStorageError if there is a file already.
    """
    folder, name = os.path.split(path)
    folder = folder or "."
    with storage_errors("write", path):
        if overwrite and os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(data)
            return
        if overwrite:
            replace(path, [data])
            return
        temp = os.path.join(folder, temp_name(name))
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
        sync_dir(folder)
