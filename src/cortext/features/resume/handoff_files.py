"""Files that are kept for days: the rest of long texts and the instructions of OpenCode, for agents
to read, and the models of sessions. Most hold what was said, so none stays for long."""

from __future__ import annotations

import os
import time

from cortext import paths
from cortext.durability.replace_file import make_private_dir, remove_if_there, storage_errors

PIECES, INSTRUCTIONS, MODELS = "pieces", "instructions", "models"
_KEPT_SECONDS = {PIECES: 86_400, INSTRUCTIONS: 7 * 86_400, MODELS: 7 * 86_400}
"""A tool reads its instructions, and has its model, for as long as it runs."""


def folder_of(kind: str) -> str:
    return os.path.join(paths.running(), kind)


def make_room(kind: str) -> str:
    """The folder for another one; those that nobody waits for any more are removed."""
    folder = folder_of(kind)
    make_private_dir(folder)
    _remove(folder, time.time() - _KEPT_SECONDS[kind])
    return folder


def forget_handed(before: float = float("inf")) -> None:
    """Leave none that was written `before`, whosever words they hold: an agent asks once more."""
    for kind in _KEPT_SECONDS:
        folder = folder_of(kind)
        with storage_errors("empty", folder):
            if os.path.isdir(folder):
                _remove(folder, before)


def _remove(folder: str, before: float) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            old = os.lstat(path).st_mtime < before
        except FileNotFoundError:
            continue  # another one removes them too
        if old:
            remove_if_there(path)
