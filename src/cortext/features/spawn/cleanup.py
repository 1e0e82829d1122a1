"""Deletion of sessions of `cortext spawn`: one session, or all old ones. They go to the trash."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import NamedTuple

from cortext import clock, paths
from cortext.catalog.log_row_reader import latest_of, read_log
from cortext.catalog.row import ConversationRow
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import all_set_aside, side_dir
from cortext.durability.trash_folder import Trash, TrashEntry
from cortext.errors import CortextError, SessionLockedError, SessionNotFoundError
from cortext.features.archive.background_sync import is_time, start_detached
from cortext.features.errors_log import write_error
from cortext.features.spawn.session_files import open_store, session_path, take_session
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_settings import SpawnSettings

_DAY = 86_400 * 1_000_000
"""The length of a day in microseconds."""
_EVERY = 300.0
"""The least seconds between two background clean-ups for callers without a list of sessions."""
_STARTED, _NOTED = "clean-up.started", "clean-up.noted"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PROGRAM = (
    "import sys; from cortext.features.spawn.cleanup import expire; expire(float(sys.argv[1]))"
)


class Cleaned(NamedTuple):
    """The result of a clean-up.

    `gone` has the trash entries of the deleted sessions. `kept` has a sentence for each old session
    that was not deleted, with the reason.
    """

    gone: list[TrashEntry]
    kept: list[str]


def delete(id: str) -> TrashEntry:
    """Move a session of `spawn` to the trash.

    Damaged files that were set aside from the session go with it. Raises SessionNotFoundError if
    there is no such session. Raises SessionLockedError, which names the process, if the session is
    open.
    """
    path = session_path(id)
    if not os.path.lexists(path):
        raise SessionNotFoundError(id, path=path)
    with _alone(id):
        row = _look_again(id, path, None)
        if row is None:
            raise SessionNotFoundError(id, path=path)
        return _put(row)


def clean(days: float, *, on_gone: Callable[[TrashEntry], None] | None = None) -> Cleaned:
    """Move sessions without a message in the last `days` days to the trash.

    Damaged sessions, open sessions and sessions with a time in the future are not moved. `kept` of
    the result lists them with the reason. `on_gone` is called after each moved session.
    """
    limits = _Limits.of(days)
    done = Cleaned([], [])
    for row in list_spawned():
        why = "is open now" if row.status == "active" else _why_not(row, limits)
        if why is None:
            why = _clean_one(row, limits, done.gone, on_gone)
        elif row.status == "active" and row.last_active > limits.old:
            why = ""
        if why:
            done.kept.append(f"{row.key}: {why}")
    return done


def start_expiry(settings: SpawnSettings, rows: Sequence[ConversationRow] | None = None) -> bool:
    """Delete old sessions in a background process, if the settings say so.

    Return whether the process was started. `rows` are all sessions, the latest first. With `rows`,
    the process starts only if one of them is old enough. Without `rows`, it starts at most once in
    five minutes.
    """
    folder, days = paths.spawn_sessions(), settings.expiry_days
    if not days > 0 or not os.path.isdir(folder):
        return False
    if rows is None:
        try:
            due = is_time(os.path.join(side_dir(folder), _STARTED), _EVERY)
        except OSError as error:
            write_error("starting to clean up", error)
            return False
    else:
        limit = _Limits.of(days).old
        old = takewhile(lambda row: row.last_active <= limit, reversed(rows))
        due = any(row.status != "active" and not row.is_damaged for row in old)
    return due and start_detached("-c", _PROGRAM, f"{days:g}")


def expire(days: float) -> None:
    """Delete old sessions, as the main function of the background process.

    A notice for the next command is stored on disk. Errors are logged.
    """
    try:
        clean(days, on_gone=lambda _: _note(days))
    except (CortextError, OSError) as error:
        write_error("cleaning up sessions", error)


def take_cleanup_notice() -> str:
    """Return a sentence about sessions that were deleted in the background, and remove the notice.

    Return "" if there is no notice.
    """
    folder = paths.spawn_sessions()
    path = os.path.join(folder, ".cortext", _NOTED)
    if not os.path.exists(path):
        return ""
    try:
        with _noting(folder):
            with open(path, encoding="ascii", errors="replace") as file:
                notes = file.read().split()
            os.unlink(path)
    except OSError:
        return ""  # the notice could not be removed and would appear again and again
    if not notes:
        return ""
    what = "1 session" if len(notes) == 1 else f"{len(notes)} sessions"
    return (
        f"{what} older than {notes[-1]} days deleted; `cortext trash list` shows "
        f"{'it' if len(notes) == 1 else 'them'}"
    )


class _Limits(NamedTuple):
    """The time limits of a clean-up, in microseconds since 1970.

    A session is old if its last message is at `old` or before. A time after `future` is wrong,
    because it is in the future.
    """

    old: float
    future: int

    @classmethod
    def of(cls, days: float) -> _Limits:
        if type(days) not in (int, float) or not 0 <= days < float("inf"):
            raise CortextError(
                f"an age is a number of days, 0 or more, not {days!r:.40}",
                hint="30 is for what nobody used for 30 days, 0 for everything",
            )
        now = int(clock.now().timestamp() * 1_000_000)
        return cls(now - days * _DAY, now)


def _why_not(row: ConversationRow, limits: _Limits) -> str | None:
    """Return why a session is not deleted, "" if it is not old, or None if it must be deleted."""
    if row.is_damaged:
        return row.note
    latest = latest_of(row)
    if latest > limits.future:
        return f"is from the future: {clock.from_micros(latest):%Y-%m-%d %H:%M} UTC"
    return "" if latest > limits.old else None


def _clean_one(
    row: ConversationRow,
    limits: _Limits,
    gone: list[TrashEntry],
    on_gone: Callable[[TrashEntry], None] | None,
) -> str | None:
    """Move a session to the trash and add its entry to `gone`, or return why it was not moved.

    The session is checked again while it is locked, because someone may have used it meanwhile.
    """
    try:
        with _alone(row.key):
            now = _look_again(row.key, row.path, row)
            if now is None:
                return ""
            why = _why_not(now, limits)
            if why is not None:
                return why or "was used meanwhile"
            gone.append(_put(now))
    except SessionLockedError as error:
        return f"is held by {error.holder}"
    except (CortextError, OSError) as error:
        return str(error)
    if on_gone is not None:
        on_gone(gone[-1])
    return None


@contextmanager
def _alone(id: str) -> Generator[None]:
    """Lock a session so that no other process can open it or write to it."""
    mark = take_session(id)
    try:
        with open_store().changing(id):
            yield
    finally:
        mark.release()


def _look_again(id: str, path: str, row: ConversationRow | None) -> ConversationRow | None:
    read = read_log(os.path.dirname(path), id, row)
    return read and read.row


def _put(row: ConversationRow) -> TrashEntry:
    """Move the session's file to the trash, with damaged files that were set aside from it."""
    label = f"{row.key}: {row.title}" if row.title else row.key
    return Trash(paths.trash()).put(label, [row.path, *all_set_aside(row.path)])


def _note(days: float) -> None:
    """Add one deleted session to the notice for the next command."""
    folder = paths.spawn_sessions()
    with _noting(folder):
        fd = os.open(os.path.join(folder, ".cortext", _NOTED), _WRITE | os.O_APPEND, 0o600)
        try:
            os.write(fd, f"{days:g}\n".encode())
        finally:
            os.close(fd)


def _noting(folder: str) -> FileLock:
    return FileLock(os.path.join(folder, ".cortext", "locks", f"{_NOTED}.lock"))
