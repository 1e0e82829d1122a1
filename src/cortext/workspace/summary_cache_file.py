"""The cache file in which an adapter stores summaries of the sessions in a folder.

The file can be deleted at any time. The adapter creates it again.
"""

from __future__ import annotations

import os

from cortext.durability.replace_file import remove_if_there


def summaries_path(folder: str) -> str:
    """Return the path of the cache file for the sessions of a folder."""
    return os.path.join(folder, ".cortext", "claude-summaries.sqlite")


def remove_summaries(folder: str) -> None:
    """Delete the cache file, and the files that SQLite puts beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        remove_if_there(summaries_path(folder) + ending)
