"""Find, lock and recover the session files of `cortext spawn`."""

from __future__ import annotations

import os

import msgspec

from cortext import paths
from cortext.durability.durable_files import set_aside, side_dir, storage_errors
from cortext.durability.live_session_mark import LiveMark, mark_path
from cortext.errors import SessionLockedError
from cortext.model.ids import check_id
from cortext.stores.log import LogStore


def open_store() -> LogStore:
    return LogStore(paths.spawn_sessions())


def session_path(id: str) -> str:
    """Return the path of a session's file, which need not exist.

    Raises InvalidIdError if `id` is not a valid id.
    """
    return os.path.join(paths.spawn_sessions(), f"{check_id(id)}.jsonl")


def live_path(id: str) -> str:
    """Return the path of the lock file that a process holds while it has the session open."""
    return mark_path(paths.spawn_sessions(), id)


def take_session(id: str) -> LiveMark:
    """Lock a session for this process until the returned lock is released.

    Raises SessionLockedError if another process has the session open. The error names the process.
    """
    with storage_errors("open", session_path(id)):
        side_dir(paths.spawn_sessions())
        mark = LiveMark(live_path(id))
        holder = mark.take()
    if holder is not None:
        raise SessionLockedError(session_path(id), holder=holder, waited=0)
    return mark


class Recovered(msgspec.Struct, frozen=True):
    """The result of a recovery.

    `kept` is the number of recovered messages, and `lost` is the number of unreadable lines.
    `aside` is the path of the damaged original.
    """

    kept: int
    lost: int
    aside: str


def recover(id: str) -> Recovered:
    """Rewrite a damaged session file with all messages that can be read.

    The damaged file stays beside the new file, under another name. Raises SessionLockedError if
    another process has the session open.
    """
    store, path = open_store(), session_path(id)
    mark = take_session(id)
    try:
        reading = store.read(id)
        lost = sum(damage.fatal for damage in reading.damages)
        with storage_errors("set aside", path):
            aside = set_aside(path, "corrupt")
        session = reading.session
        session.agent = session.agent or "default"
        session.status = "paused"
        store.save(session)
    finally:
        mark.release()
    return Recovered(len(session.messages), lost, aside)
