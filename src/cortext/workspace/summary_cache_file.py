"""What an adapter's lists remember of the sessions of a folder: it is made anew where it is not
there."""

from __future__ import annotations

import os

from cortext.durability.replace_file import remove_if_there


def summaries_path(folder: str) -> str:
    """Where it is kept, for the sessions of a folder."""
    return os.path.join(folder, ".cortext", "claude-summaries.sqlite")


def remove_summaries(folder: str) -> None:
    """Leave nothing of it, also not in the files that the database has beside its own."""
    for ending in ("", "-wal", "-shm", "-journal"):
        remove_if_there(summaries_path(folder) + ending)
