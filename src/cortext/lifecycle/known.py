"""The workspaces that cortext was used in, so that a list can go over all of them.

One path a line, in a file that a person can read and edit. This module is imported by every
list, so it imports next to nothing.
"""

from __future__ import annotations

import os

from cortext import paths


def known_workspaces() -> list[str]:
    """Every workspace, the personal one first; also one that is not there now."""
    return [paths.personal_workspace(), *_read()]


def remember_workspace(root: str) -> None:
    """Have a workspace in the file; where nothing can be written, it is listed only when one
    is in it."""
    if root == paths.personal_workspace() or root in _read():
        return
    from cortext.durability.lock import FileLock
    from cortext.durability.replace import make_private_dir, replace
    from cortext.errors import SessionStorageError

    path = paths.known_workspaces()
    try:
        make_private_dir(os.path.dirname(path))
        with FileLock(f"{path}.lock", guards=path):
            roots = _read()
            if root not in roots:
                replace(path, [os.fsencode(f"{_escape(each)}\n") for each in (*roots, root)])
    except (OSError, SessionStorageError) as error:
        import logging

        logging.getLogger("cortext.lifecycle").info(
            "%s is not remembered as a workspace: %s", root, error
        )


def forget_workspaces(roots: list[str]) -> None:
    """Take workspaces out of the file; their folders are not touched."""
    from cortext.durability.lock import FileLock
    from cortext.durability.replace import replace

    path = paths.known_workspaces()
    with FileLock(f"{path}.lock", guards=path):
        kept = [root for root in _read() if root not in roots]
        replace(path, [os.fsencode(f"{_escape(each)}\n") for each in kept])


def _read() -> list[str]:
    try:
        with open(paths.known_workspaces(), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        # Whatever stands in its place, what is here can be listed.
        return []
    return [_unescape(os.fsdecode(line)) for line in lines if line]


def _escape(path: str) -> str:
    return path.replace("%", "%25").replace("\n", "%0A")


def _unescape(line: str) -> str:
    return line.replace("%0A", "\n").replace("%25", "%")
