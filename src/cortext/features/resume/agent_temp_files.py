"""Hand-off files: temporary files for agents, which are deleted after some days.

There are three kinds. "pieces" are long texts that an agent reads in several pieces. "instructions"
are for tools that read instructions from a file. "models" hold the name of the model of each tool
session. Most hand-off files contain messages, so they are deleted soon.
"""

from __future__ import annotations

import os
import time

from cortext import paths
from cortext.durability.durable_files import make_private_dir, remove_if_there, storage_errors

PIECES, INSTRUCTIONS, MODELS = "pieces", "instructions", "models"
_KEPT_SECONDS = {PIECES: 86_400, INSTRUCTIONS: 7 * 86_400, MODELS: 7 * 86_400}
"""The seconds until a hand-off file is deleted, by kind.

A tool may need its instructions as long as it runs.
"""


def folder_of(kind: str) -> str:
    return os.path.join(paths.running(), kind)


def prepare_handoff_dir(kind: str) -> str:
    """Return the path of the folder for one kind of hand-off files.

    The folder is created if needed, and files in it that are too old are deleted.
    """
    folder = folder_of(kind)
    make_private_dir(folder)
    _delete(folder, time.time() - _KEPT_SECONDS[kind])
    return folder


def delete_handoff_files(before: float = float("inf")) -> None:
    """Delete the hand-off files of all kinds that were written before the time `before`.

    `before` is in seconds since 1970; by default, all files are deleted. An agent that needs a
    deleted text requests it again.
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
