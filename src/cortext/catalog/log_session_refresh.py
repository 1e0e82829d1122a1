"""Use the catalog to list the sessions in a folder of logs (one JSONL file each).

`aur spawn` or another program wrote the logs. A refresh calls `stat` for each log, and reads the
logs that changed. It changes nothing in the folder, with one exception: it deletes the index that
version 0.1.0 wrote there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from cortext.catalog.rebuildable_database import Database
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
from cortext.catalog.source_refresh import (
    KnownFolders,
    KnownRows,
    PositionLoader,
    SourceChanges,
    refresh_source,
)
from cortext.durability.durable_files import remove_if_there, storage_errors
from cortext.durability.live_session_mark import live_holder, mark_path
from cortext.stores.ids_in_folder import is_id

SUFFIX = ".jsonl"
_KIND = "log"
_FOLDER = ""
"""The key under which the catalog stores the fingerprint of the folder of logs itself."""
_FORMER_INDEX = "spawned.sqlite3"
"""The file name of the database that version 0.1.0 wrote to a folder of logs."""


class _FolderScan(msgspec.Struct, frozen=True):
    """A scan of one folder of logs.

    `fd` is the open folder, and `began` is when the scan started. `time` is the folder's
    modification time. Both times are in nanoseconds since 1970.
    """

    fd: int
    began: int
    time: int

    @property
    def is_settled(self) -> bool:
        """Whether adding or removing a file later will change the folder's modification time.

        Two changes within one clock tick give the folder the same time. So the result is True only
        if the clock tick of the last change was over when the scan started.
        """
        return self.time < self.began - FRESH_NS


def list_logs(database: Database, folder: str, tool: str, lost: str) -> list[ConversationRow]:
    """Refresh a folder of logs, and return its sessions, the latest first.

    Each row gets the value of `tool` in its field `tool`. A lost session gets the value of `lost`
    as its status (see `_with_status`). The field `last_active` is the time of the last turn
    (message), or the start time if there is no turn. The row of a damaged session has a note. An
    incomplete last line is not damage. Raises SessionStorageError if the folder cannot be read.
    """
    folder = os.path.abspath(os.path.expanduser(folder))
    with storage_errors("list", folder):
        return database.repeat(lambda: _list_logs(database, folder, tool, lost))


def _list_logs(database: Database, folder: str, tool: str, lost: str) -> list[ConversationRow]:
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        if not database.is_there and not _list_ids(fd):
            return []
        scan = _FolderScan(fd, time.time_ns(), os.fstat(fd).st_mtime_ns)
        rows = refresh_source(
            database,
            Source(_KIND, folder),
            lambda rows, folders, load_position: _find_changes(
                folder, tool, scan, rows, folders, load_position
            ),
        )
    finally:
        os.close(fd)
    listed = [stored.row for stored in rows.values() if stored.row]
    return sorted(_with_status(listed, folder, lost), key=recency, reverse=True)


def forget_changed(db: sqlite3.Connection) -> None:
    """Delete the catalog rows of logs that were deleted or changed since their last refresh.

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
            store_rows(db, source, {}, _changed_ids(fd, known.items()))
        finally:
            os.close(fd)


def remove_former_index(folder: str) -> None:
    """Delete the index file that version 0.1.0 wrote to a folder of logs.

    The file may contain the titles of deleted sessions.
    """
    for suffix in ("", "-wal", "-shm", "-lock"):
        remove_if_there(f"{folder}/.cortext/{_FORMER_INDEX}{suffix}")


def _find_changes(
    folder: str,
    tool: str,
    scan: _FolderScan,
    known: KnownRows,
    folders: KnownFolders,
    load_position: PositionLoader,
) -> SourceChanges:
    """Read the logs that are new or changed, and return the changes of their rows."""
    ids = _changed_ids(scan.fd, ((id, stored.fingerprint) for id, stored in known.items()))
    # If the time of the folder is the same, no file was added or removed.
    is_unchanged = folders.get(_FOLDER) == str(scan.time) and scan.is_settled
    if not is_unchanged:
        ids |= _list_ids(scan.fd) - known.keys()
    if is_unchanged and not ids:
        return SourceChanges()
    if not folders:
        remove_former_index(folder)
    rows = {id: _read_row(folder, id, tool, known.get(id), load_position, scan.began) for id in ids}
    changes = SourceChanges(
        {id: row for id, row in rows.items() if row and not row.is_same(known.get(id))},
        [id for id, row in rows.items() if row is None and id in known],
    )
    if scan.is_settled:
        changes.folders[_FOLDER] = str(scan.time)
    elif _FOLDER in folders:
        changes.gone_folders = [_FOLDER]
    return changes


def _read_row(
    folder: str,
    id: str,
    tool: str,
    known: StoredRow | None,
    load_position: PositionLoader,
    began: int,
) -> StoredRow | None:
    """Return the row of the log with this id; None if the file is gone or is not a session."""
    if not is_id(id) or os.path.isdir(f"{folder}/{id}{SUFFIX}"):
        return None
    from cortext.catalog.log_row_reader import read_log

    old, position = (known.row, load_position(id)) if known else (None, None)
    read = read_log(folder, id, tool, old=old, position=position)
    return read.to_store(began) if read else None


def _with_status(rows: list[ConversationRow], folder: str, lost: str) -> list[ConversationRow]:
    """Return the rows, with the status `lost` for each lost session.

    A session is lost if its status is "interrupted", or if its status is "active" but no process
    has the session open.
    """
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

    `marked` has the ids of the sessions with a mark file, which a process locks while it has the
    session open.
    """
    if id not in marked:
        return False
    try:
        return live_holder(mark_path(folder, id)) is not None
    except OSError:
        return False  # a link or a folder, which cortext did not make


def _marked_ids(folder: str) -> set[str]:
    """Return the ids of the sessions that have a mark file.

    A process creates the file when it opens the session. The file stays when the session is closed.
    """
    try:
        return set(os.listdir(mark_path(folder)))
    except OSError:
        return set()


def _list_ids(fd: int) -> set[str]:
    """Return the names of the files in the open folder `fd` that may be logs, without `.jsonl`."""
    cut = -len(SUFFIX)
    return {name[:cut] for name in os.listdir(fd) if name.endswith(SUFFIX)}


def _changed_ids(fd: int, known: Iterable[tuple[str, str]]) -> set[str]:
    """Return the ids of the logs that changed or no longer exist.

    `fd` is the open folder, and `known` has the id and the stored fingerprint of each log.
    """
    changed: set[str] = set()
    stat = os.stat
    # A plain loop, because a refresh of many logs spends most of its time in it.
    for id, fingerprint in known:
        try:
            status = stat(id + SUFFIX, dir_fd=fd)
        except OSError:
            changed.add(id)
            continue
        if fingerprint != f"{status.st_ino} {status.st_size} {status.st_mtime_ns}":
            changed.add(id)
    return changed
