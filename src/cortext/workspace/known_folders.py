"""The folders in which `cortext list` finds conversations.

These are workspaces, and folders in which programs store sessions. The paths are in text files, one
per line, which a user can read and edit.
"""

from __future__ import annotations

import os

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.errors import SessionStorageError


def known_workspaces() -> list[str]:
    """Return the folders of all known workspaces, the personal workspace first.

    Some of these folders may not exist any more.
    """
    return [paths.personal_workspace(), *_try_read_paths(paths.known_workspaces())]


def remember_workspace(root: str) -> None:
    """Add a workspace to the file of known workspaces.

    No error is raised if the file cannot be written. In this case, `cortext list` finds the
    workspace only if the user runs the command inside the workspace.
    """
    if root != paths.personal_workspace():
        _remember(paths.known_workspaces(), root)


def forget_gone() -> list[str]:
    """Remove workspaces that do not exist any more from the file of known workspaces.

    Return the removed workspaces. Raises SessionStorageError, and leaves the file as it is, if the
    file cannot be read or written.
    """
    path = paths.known_workspaces()
    with storage_errors("read", path), FileLock(f"{path}.lock", guards=path):
        known = _read_paths(path)
        gone = [root for root in known if not os.path.isdir(root)]
        if gone:
            kept = [root for root in known if root not in gone]
            replace(path, [os.fsencode(f"{_escape(each)}\n") for each in kept])
    return gone


def program_folders() -> list[str]:
    """Return the folders in which programs store sessions as logs (one JSONL file each).

    The default folder comes first, then the folders that `remember_program` recorded.
    """
    return [paths.program_sessions(), *_try_read_paths(paths.known_programs())]


def remember_program(folder: str) -> None:
    """Record that a program stores logs in `folder`, so that `cortext list` finds them.

    The path is added to a text file. No error is raised if this file cannot be written. In this
    case, `cortext list` searches the folder only if the settings contain it.
    """
    if folder != paths.program_sessions():
        _remember(paths.known_programs(), folder)


def document_folders() -> list[str]:
    """Return the folders in which programs store sessions as documents (one JSON file each).

    The default folder comes first, then the folders that `remember_documents` recorded.
    """
    return [paths.document_dir(), *_try_read_paths(paths.known_documents())]


def remember_documents(folder: str) -> None:
    """Record that a program stores documents in `folder`, so that `cortext list` finds them.

    The path is added to a text file. No error is raised if this file cannot be written. In this
    case, `cortext list` searches the folder only if the settings contain it.

    Folders of logs are recorded in another file, because the JSON files in a folder of logs are not
    session documents.
    """
    if folder != paths.document_dir():
        _remember(paths.known_documents(), folder)


def _remember(path: str, folder: str) -> None:
    if folder in _try_read_paths(path):
        return

    try:
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path):
            known = _read_paths(path)
            if folder not in known:
                replace(path, [os.fsencode(f"{_escape(each)}\n") for each in (*known, folder)])
    except (OSError, SessionStorageError) as error:
        import logging

        logging.getLogger("cortext.lifecycle").info("could not remember %s: %s", folder, error)


def _try_read_paths(path: str) -> list[str]:
    try:
        return _read_paths(path)
    except OSError:
        # Without the file, the current workspace can still be listed.
        return []


def _read_paths(path: str) -> list[str]:
    """Return the paths in a file of known folders.

    The result is empty if the file does not exist. Raises OSError if the file cannot be read, so
    that a caller that rewrites the file does not treat it as empty.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    return [_unescape(os.fsdecode(line)) for line in lines if line]


def _escape(path: str) -> str:
    return path.replace("%", "%25").replace("\n", "%0A")


def _unescape(line: str) -> str:
    return line.replace("%0A", "\n").replace("%25", "%")
