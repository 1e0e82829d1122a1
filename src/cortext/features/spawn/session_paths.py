"""Where the sessions of `aur spawn` are, and how one is had alone."""

from __future__ import annotations

import os

from cortext import paths
from cortext.durability.lifetime_lock import LiveMark, mark_path
from cortext.durability.replace_file import side_dir, storage_errors
from cortext.errors import SessionLockedError
from cortext.model.ids import check_id
from cortext.stores.log import LogStore


def open_store() -> LogStore:
    return LogStore(paths.spawn_sessions())


def path_of(id: str) -> str:
    """Where a session is, or would be."""
    return os.path.join(paths.spawn_sessions(), f"{check_id(id)}.jsonl")


def live_path(id: str) -> str:
    """The mark of the process that has a session open."""
    return mark_path(paths.spawn_sessions(), id)


def take(id: str) -> LiveMark:
    """The session is ours; SessionLockedError names whoever has it."""
    with storage_errors("open", path_of(id)):
        side_dir(paths.spawn_sessions())
        mark = LiveMark(live_path(id))
        holder = mark.take()
    if holder is not None:
        raise SessionLockedError(path_of(id), holder=holder, waited=0)
    return mark
