"""The folders that lists look in: workspaces, and folders in which programs keep sessions.

They are in files with one path a line, which a person can read and edit.
"""

from __future__ import annotations

import os

from cortext import paths
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import make_private_dir, replace, storage_errors
from cortext.errors import SessionStorageError


def known_workspaces() -> list[str]:
    """Every workspace, the personal one first; also one that is not there now."""
    return [paths.personal_workspace(), *_read(paths.known_workspaces())]


def remember_workspace(root: str) -> None:
    """Have a workspace in the file; where nothing can be written, it is listed only when one
    is in it."""
    if root != paths.personal_workspace():
        _remember(paths.known_workspaces(), root)


def forget_gone() -> list[str]:
    """Take the workspaces out of the file that are not there any more, and name them.
    SessionStorageError if the file cannot be read or written; then it is as before."""
    path = paths.known_workspaces()
    with storage_errors("read", path), FileLock(f"{path}.lock", guards=path):
        known = _all(path)
        gone = [root for root in known if not os.path.isdir(root)]
        if gone:
            kept = [root for root in known if root not in gone]
            replace(path, [os.fsencode(f"{_escape(each)}\n") for each in kept])
    return gone


def program_folders() -> list[str]:
    """Where programs keep sessions as logs: the default place, and those that they chose."""
    return [paths.program_sessions(), *_read(paths.known_programs())]


def remember_program(folder: str) -> None:
    """Have a folder of a program in the file; where nothing can be written, only the settings can
    name it."""
    if folder != paths.program_sessions():
        _remember(paths.known_programs(), folder)


def document_folders() -> list[str]:
    """Where programs keep sessions as documents: the default place, and those that they chose by
    an adapter."""
    return [paths.document_dir(), *_read(paths.known_documents())]


def remember_documents(folder: str) -> None:
    """As `remember_program`, of documents: in a folder of logs, other files are none of ours."""
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
        # Whatever stands in its place, what is here can be listed.
        return []


def _all(path: str) -> list[str]:
    """As `_read`, for who writes it anew: what cannot be read must not be taken for nothing."""
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
