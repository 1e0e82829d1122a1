"""Hand-off files: texts for agents that are deleted after some days.

They are the rest of long texts, the instructions for tools that read them from a file, and the
models of sessions. Most contain messages, so none stays for long.
"""

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


def prepare_handoff_dir(kind: str) -> str:
    """Make the folder for another file, and delete the old files in it; return the folder."""
    folder = folder_of(kind)
    make_private_dir(folder)
    _delete(folder, time.time() - _KEPT_SECONDS[kind])
    return folder


def delete_handoff_files(before: float = float("inf")) -> None:
    """Delete all files that were written `before`, of any conversation: an agent asks again."""
    for kind in _KEPT_SECONDS:
        folder = folder_of(kind)
        with storage_errors("empty", folder):
            if os.path.isdir(folder):
                _delete(folder, before)


def _delete(folder: str, before: float) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            old = os.lstat(path).st_mtime < before
        except FileNotFoundError:
            continue  # another process deletes them too
        if old:
            remove_if_there(path)
