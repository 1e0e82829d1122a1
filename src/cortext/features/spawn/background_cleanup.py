"""Delete old sessions of `cortext spawn` in a background process, if the settings say so."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import takewhile

import msgspec

from cortext import clock, paths
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import side_dir
from cortext.durability.file_lock import FileLock
from cortext.errors import CortextError
from cortext.features.archive.background_sync import claim_start, start_detached
from cortext.features.errors_log import write_error
from cortext.features.spawn.aurora_settings import SpawnSettings

_DAY_MICROS = 86_400 * 1_000_000
"""The length of a day in microseconds."""
_MIN_INTERVAL = 300.0
"""The minimum number of seconds between two clean-ups.

It applies if the caller does not know whether any session is old.
"""
_STARTED_FILE, _NOTICE_FILE = "clean-up.started", "clean-up.noted"
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_IMPORT = "import sys; from cortext.features.spawn.delete_spawned import expire"
_PROGRAM = f"{_IMPORT}; expire(float(sys.argv[1]))"


class CleanupLimits(msgspec.Struct, frozen=True):
    """The time limits of a clean-up, in microseconds since 1970.

    A session is old if its last message was written at or before `old`. `future` is the time at
    which the clean-up starts. If the time of a session's last message is later than `future`, the
    time of this message is wrong.
    """

    old: float
    future: int

    @classmethod
    def of(cls, days: float) -> CleanupLimits:
        if type(days) not in (int, float) or not 0 <= days < float("inf"):
            raise CortextError(
                f"the number of days must be 0 or more, not {days!r:.40}",
                hint="30 deletes sessions that were not used for 30 days; 0 deletes all sessions",
            )
        now = int(clock.now().timestamp() * 1_000_000)
        return cls(now - days * _DAY_MICROS, now)


def start_expiry(settings: SpawnSettings, rows: Sequence[ConversationRow] | None = None) -> bool:
    """Delete old sessions in a background process, if the settings say so.

    Return whether the process was started. `rows` are all sessions, the latest first, or None. If
    `rows` is given, the process starts only if one of the sessions is old. If `rows` is None, the
    process starts at most once in five minutes.
    """
    folder, days = paths.spawn_sessions(), settings.expiry_days
    if not days > 0 or not os.path.isdir(folder):
        return False
    if rows is None:
        try:
            due = claim_start(os.path.join(side_dir(folder), _STARTED_FILE), _MIN_INTERVAL)
        except OSError as error:
            write_error("starting to clean up", error)
            return False
    else:
        limit = CleanupLimits.of(days).old
        old = takewhile(lambda row: row.last_active <= limit, reversed(rows))
        due = any(row.status != "active" and not row.is_damaged for row in old)
    return due and start_detached("-c", _PROGRAM, f"{days:g}")


def take_cleanup_notice() -> str:
    """Return the stored notice about sessions that were deleted in the background.

    Delete the notice, so that it is shown only once. Return "" if there is no notice.
    """
    folder = paths.spawn_sessions()
    path = os.path.join(folder, ".cortext", _NOTICE_FILE)
    if not os.path.exists(path):
        return ""
    try:
        with _lock_notice(folder):
            with open(path, encoding="ascii", errors="replace") as file:
                notes = file.read().split()
            os.unlink(path)
    except OSError:
        return ""  # the notice could not be removed and would appear again and again
    if not notes:
        return ""
    what = "1 session" if len(notes) == 1 else f"{len(notes)} sessions"
    return (
        f"{what} older than {notes[-1]} days moved to the trash. To list the trash: "
        "`cortext trash list`"
    )


def note_deletion(days: float) -> None:
    """Add one deleted session to the notice that the next command shows.

    `days` is the age limit after which sessions are deleted.
    """
    folder = paths.spawn_sessions()
    with _lock_notice(folder):
        fd = os.open(
            os.path.join(folder, ".cortext", _NOTICE_FILE), _WRITE_FLAGS | os.O_APPEND, 0o600
        )
        try:
            os.write(fd, f"{days:g}\n".encode())
        finally:
            os.close(fd)


def _lock_notice(folder: str) -> FileLock:
    return FileLock(os.path.join(folder, ".cortext", "locks", f"{_NOTICE_FILE}.lock"))
