"""The folders that lists search: workspaces, and folders in which programs store sessions.

The paths are in text files, one per line, which a user can read and edit.
"""

from __future__ import annotations

import os

from cortext import paths
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import make_private_dir, replace, storage_errors
from cortext.errors import SessionStorageError


def known_workspaces() -> list[str]:
    """Return every known workspace, the personal one first. Some may not exist any more."""
    return [paths.personal_workspace(), *_read(paths.known_workspaces())]


def remember_workspace(root: str) -> None:
    """Add a workspace to the file of known workspaces.

    If the file cannot be written, the workspace is listed only from within its folder.
    """
    if root != paths.personal_workspace():
        _remember(paths.known_workspaces(), root)


def forget_gone() -> list[str]:
    """Remove workspaces that do not exist any more from the file of known workspaces.

    Return the removed workspaces. Raises SessionStorageError if the file cannot be read or written.
    Then the file is unchanged.
    """
    path = paths.known_workspaces()
    with storage_errors("read", path), FileLock(f"{path}.lock", guards=path):
        known = _all(path)
        gone = [root for root in known if not os.path.isdir(root)]
        if gone:
            kept = [root for root in known if root not in gone]
            replace(path, [os.fsencode(f"{_escape(each)}\n") for each in kept])
    return gone


def program_folders() -> list[str]:
    """Return the folders in which programs store logs: the default, then the remembered ones."""
    return [paths.program_sessions(), *_read(paths.known_programs())]


def remember_program(folder: str) -> None:
    """Add a folder in which a program stores logs to the file of such folders.

    If the file cannot be written, the folder is listed only if the settings name it.
    """
    if folder != paths.program_sessions():
        _remember(paths.known_programs(), folder)


def document_folders() -> list[str]:
    """Return the folders in which programs store documents: the default, then remembered ones."""
    return [paths.document_dir(), *_read(paths.known_documents())]


def remember_documents(folder: str) -> None:
    """Add a folder in which a program stores documents to the file of such folders.

    If the file cannot be written, the folder is listed only if the settings name it. Folders of
    logs are in another file, because JSON files in them are not session documents.
    """
    if folder != paths.document_dir():
        _remember(paths.known_documents(), folder)


def _remember(path: str, folder: str) -> None:
    if folder in _read(path):
        return

    try:
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path):
            known = _all(path)
            if folder not in known:
                replace(path, [os.fsencode(f"{_escape(each)}\n") for each in (*known, folder)])
    except (OSError, SessionStorageError) as error:
        import logging

        logging.getLogger("cortext.lifecycle").info("%s is not remembered: %s", folder, error)


def _read(path: str) -> list[str]:
    try:
        return _all(path)
    except OSError:
        # Without the file, the current workspace can still be listed.
        return []


def _all(path: str) -> list[str]:
    """Return the paths in a file of known folders. Raises OSError if the file cannot be read.

    A caller that rewrites the file must not take an unreadable file for an empty one.
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
