"""The file in which the Claude Agent SDK adapter caches summaries of the sessions in a folder.

The file can be deleted at any time, because the adapter creates it again.
"""

from __future__ import annotations

import os

from cortext.durability.durable_files import remove_if_there


def summaries_path(folder: str) -> str:
    """Return the path of the file that caches the summaries of a folder's sessions."""
    return os.path.join(folder, ".cortext", "claude-summaries.sqlite")


def remove_summaries(folder: str) -> None:
    """Delete the file that caches the summaries of a folder's sessions.

    The additional files that SQLite creates, such as `-wal`, are deleted too.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        remove_if_there(summaries_path(folder) + ending)
