"""List the sessions in a folder of logs (one JSONL file each) through the catalog.

`aur spawn` or another program wrote the logs. A refresh calls `stat` for each log and reads the
logs that changed. It writes nothing to the folder, but deletes an index of version 0.1.0 there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from cortext.catalog.database import Database
from cortext.catalog.row import ConversationRow, recency
from cortext.catalog.row_table import (
    FRESH_NS,
    Source,
    StoredRow,
    forget_source,
    load_fingerprints,
    source_names,
    store_rows,
)
from cortext.catalog.source_refresh import KnownFolders, KnownRows, SourceChanges, refresh_source
from cortext.durability.lifetime_lock import live_holder, mark_path
from cortext.durability.replace_file import remove_if_there
from cortext.stores.session_file_names import is_id

SUFFIX = ".jsonl"
_KIND = "log"
_FOLDER = ""
"""The key under which the catalog stores the fingerprint of the folder of logs itself."""
_FORMER_INDEX = "spawned.sqlite3"
"""The file name of the database that version 0.1.0 wrote to a folder of logs."""


class _FolderLook(NamedTuple):
    """A scan of one folder of logs.

    `fd` is the open folder, and `began` is when the scan started. `time` is the folder's
    modification time. Both times are in nanoseconds since 1970.
    """

    fd: int
    began: int
    time: int

    @property
    def is_settled(self) -> bool:
        """Whether adding a file now would change the modification time of the folder."""
        return self.time < self.began - FRESH_NS


def list_logs(database: Database, folder: str, tool: str, lost: str) -> list[ConversationRow]:
    """Return the sessions of a folder of logs as rows of `tool`, the latest first.

    `last_active` is the time of the last turn, or of the start if there is no turn. `lost` is the
    status for a session that says it is active, but that no process has open. A damaged session has
    a note. An incomplete last line is not damage. Raises OSError if the folder cannot be read.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        if not database.is_there and not _ids(fd):
            return []
        look = _FolderLook(fd, time.time_ns(), os.fstat(fd).st_mtime_ns)
        rows = refresh_source(
            database,
            Source(_KIND, folder),
            lambda known, folders: _find_changes(folder, tool, look, known, folders),
        )
    finally:
        os.close(fd)
    listed = [stored.row for stored in rows.values() if stored.row]
    return sorted(_with_status(listed, folder, lost), key=recency, reverse=True)


def forget_changed(db: sqlite3.Connection) -> None:
    """Delete the rows of logs that were deleted or changed.

    The next refresh reads the changed logs again.
    """
    for folder in source_names(db, _KIND):
        source = Source(_KIND, folder)
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            forget_source(db, source)
            continue
        try:
            known = load_fingerprints(db, source)
            store_rows(db, source, {}, _find_changed(fd, known.items()))
        finally:
            os.close(fd)


def remove_former_index(folder: str) -> None:
    """Delete the index file that version 0.1.0 wrote to a folder of logs.

    The file may contain the titles of deleted sessions.
    """
    for suffix in ("", "-wal", "-shm", "-lock"):
        remove_if_there(f"{folder}/.cortext/{_FORMER_INDEX}{suffix}")


def _find_changes(
    folder: str, tool: str, look: _FolderLook, known: KnownRows, folders: KnownFolders
) -> SourceChanges:
    """Read the logs that are new or changed, and return the differences from the catalog."""
    ids = _find_changed(look.fd, ((id, stored.fingerprint) for id, stored in known.items()))
    # A folder with the same time has the same names.
    same = folders.get(_FOLDER) == str(look.time) and look.is_settled
    if not same:
        ids |= _ids(look.fd) - known.keys()
    if same and not ids:
        return SourceChanges()
    if not folders:
        remove_former_index(folder)
    found = {id: _read(folder, id, known, tool, look.began) for id in ids}
    changes = SourceChanges(
        {id: row for id, row in found.items() if row is not None and row != known.get(id)},
        [id for id, row in found.items() if row is None and id in known],
    )
    if look.is_settled:
        changes.folders[_FOLDER] = str(look.time)
    elif _FOLDER in folders:
        changes.gone_folders = [_FOLDER]
    return changes


def _read(folder: str, id: str, known: KnownRows, tool: str, began: int) -> StoredRow | None:
    """Return the row of the log with this id; None if the file is gone or is not a session."""
    if not is_id(id) or os.path.isdir(f"{folder}/{id}{SUFFIX}"):
        return None
    from cortext.catalog.log_row_reader import read_log

    read = read_log(folder, id, known[id].row if id in known else None, tool)
    return read.to_store(began) if read else None


def _with_status(rows: list[ConversationRow], folder: str, lost: str) -> list[ConversationRow]:
    """Return the rows, with the status `lost` for active sessions that no process has open."""
    marked = _marked_ids(folder)
    return [
        replace(row, status=lost)
        if row.status != lost
        and (
            row.status == "interrupted"
            or (row.status == "active" and not _is_live(folder, row.key, marked))
        )
        else row
        for row in rows
    ]


def _is_live(folder: str, id: str, marked: set[str]) -> bool:
    """Return whether a running process has the session open.

    `marked` has the ids with a mark file.
    """
    if id not in marked:
        return False
    try:
        return live_holder(mark_path(folder, id)) is not None
    except OSError:
        return False  # a link or a folder, which cortext did not make


def _marked_ids(folder: str) -> set[str]:
    """Return the ids of the sessions that have a mark file. Opening a session creates the file."""
    try:
        return set(os.listdir(mark_path(folder)))
    except OSError:
        return set()


def _ids(fd: int) -> set[str]:
    """Return the names of the files in the folder `fd` that may be logs, without the suffix."""
    cut = -len(SUFFIX)
    return {name[:cut] for name in os.listdir(fd) if name.endswith(SUFFIX)}


def _find_changed(fd: int, known: Iterable[tuple[str, str]]) -> set[str]:
    """Return the ids of the logs in the folder `fd` whose fingerprints differ from `known`."""
    changed: set[str] = set()
    stat = os.stat
    # A plain loop, because a refresh of many logs spends most of its time in it.
    for id, fingerprint in known:
        try:
            found = stat(id + SUFFIX, dir_fd=fd)
        except OSError:
            changed.add(id)
            continue
        if fingerprint != f"{found.st_ino} {found.st_size} {found.st_mtime_ns}":
            changed.add(id)
    return changed
