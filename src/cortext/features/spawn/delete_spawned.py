"""Delete sessions of `cortext spawn`: one session, or all old sessions. They go to the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

from cortext import clock, paths
from cortext.catalog.log_row_reader import latest_time, read_log
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import all_set_aside
from cortext.durability.trash_folder import Trash, TrashEntry
from cortext.errors import CortextError, SessionLockedError, SessionNotFoundError
from cortext.features.errors_log import write_error
from cortext.features.spawn.background_cleanup import CleanupLimits, note_deletion
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_locks_and_recovery import open_store, session_path, take_session


class CleanupResult(NamedTuple):
    """The result of a clean-up.

    `gone` has the trash entries of the deleted sessions. `kept` has a sentence for each old session
    that was not deleted, with the reason.
    """

    gone: list[TrashEntry]
    kept: list[str]


def delete(id: str) -> TrashEntry:
    """Move a session of `cortext spawn` to the trash.

    A repair of a session file keeps a copy of the damaged file. Such copies are moved too. Raises
    SessionNotFoundError if there is no such session. Raises SessionLockedError if a process has the
    session open. The error names the process.
    """
    path = session_path(id)
    if not os.path.lexists(path):
        raise SessionNotFoundError(id, path=path)
    with _lock_session(id):
        row = _read_again(id, path)
        if row is None:
            raise SessionNotFoundError(id, path=path)
        return _move_to_trash(row)


def clean(days: float, *, on_gone: Callable[[TrashEntry], None] | None = None) -> CleanupResult:
    """Move sessions without a message in the last `days` days to the trash.

    Damaged sessions, open sessions and sessions with a time in the future are not moved. The field
    `kept` of the result lists them with the reason. `on_gone` is called after each moved session.
    """
    limits = CleanupLimits.of(days)
    done = CleanupResult([], [])
    for row in list_spawned():
        why = "it is open" if row.status == "active" else _reason_to_keep(row, limits)
        if why is None:
            why = _clean_one(row, limits, done.gone, on_gone)
        elif row.status == "active" and row.last_active > limits.old:
            why = ""
        if why:
            done.kept.append(f"{row.key}: {why}")
    return done


def expire(days: float) -> None:
    """Delete sessions without a message in the last `days` days, and log errors.

    This is the main function of the background process. It stores a notice on disk, which the next
    command shows.
    """
    try:
        clean(days, on_gone=lambda _: note_deletion(days))
    except (CortextError, OSError) as error:
        write_error("cleaning up sessions", error)


def _reason_to_keep(row: ConversationRow, limits: CleanupLimits) -> str | None:
    """Check whether a session must be deleted.

    Return None if it must be deleted, and "" if it is not old. If the session is damaged or its
    time is in the future, return a text with this reason to keep it.
    """
    if row.is_damaged:
        return row.note
    latest = latest_time(row)
    if latest > limits.future:
        return f"its time is in the future: {clock.from_micros(latest):%Y-%m-%d %H:%M} UTC"
    return "" if latest > limits.old else None


def _clean_one(
    row: ConversationRow,
    limits: CleanupLimits,
    gone: list[TrashEntry],
    on_gone: Callable[[TrashEntry], None] | None,
) -> str | None:
    """Move a session to the trash and add its entry to `gone`.

    The session is first checked again under its lock, because somebody may have used it meanwhile.
    Return None if the session was moved, and "" if it no longer exists. In all other cases, return
    the reason why it was not moved.
    """
    try:
        with _lock_session(row.key):
            now = _read_again(row.key, row.path)
            if now is None:
                return ""
            why = _reason_to_keep(now, limits)
            if why is not None:
                return why or "it was used meanwhile"
            gone.append(_move_to_trash(now))
    except SessionLockedError as error:
        return f"it is in use by {error.holder}"
    except (CortextError, OSError) as error:
        return str(error)
    if on_gone is not None:
        on_gone(gone[-1])
    return None


@contextmanager
def _lock_session(id: str) -> Generator[None]:
    """Lock a session so that no other process can open it or write to it."""
    mark = take_session(id)
    try:
        with open_store().changing(id):
            yield
    finally:
        mark.release()


def _read_again(id: str, path: str) -> ConversationRow | None:
    read = read_log(os.path.dirname(path), id)
    return read and read.row


def _move_to_trash(row: ConversationRow) -> TrashEntry:
    """Move the file of a session to the trash.

    A repair of the file keeps its damaged version under another name, such as `PATH.torn`. These
    damaged versions are moved too.
    """
    label = f"{row.key}: {row.title}" if row.title else row.key
    return Trash(paths.trash()).put(label, [row.path, *all_set_aside(row.path)])
