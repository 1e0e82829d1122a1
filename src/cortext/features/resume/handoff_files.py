"""Hand-off files: files for agents that are deleted after some days.

They hold the rest of long texts, instructions for tools that read them from a file, and the models
of sessions. Most contain messages, so they are deleted soon.
"""

from __future__ import annotations

import os
import time

from cortext import paths
from cortext.durability.replace_file import make_private_dir, remove_if_there, storage_errors

PIECES, INSTRUCTIONS, MODELS = "pieces", "instructions", "models"
_KEPT_SECONDS = {PIECES: 86_400, INSTRUCTIONS: 7 * 86_400, MODELS: 7 * 86_400}
"""The seconds until a file is deleted. A tool may need its instructions as long as it runs."""


def folder_of(kind: str) -> str:
    return os.path.join(paths.running(), kind)


def prepare_handoff_dir(kind: str) -> str:
    """Create the folder for a file, delete the old files in it, and return the folder."""
    folder = folder_of(kind)
    make_private_dir(folder)
    _delete(folder, time.time() - _KEPT_SECONDS[kind])
    return folder


def delete_handoff_files(before: float = float("inf")) -> None:
    """Delete all files of all conversations that were written before a time.

    An agent that needs a deleted text requests it again.
    """
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
            continue  # another process deletes old files too
        if old:
            remove_if_there(path)
