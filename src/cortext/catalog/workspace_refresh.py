"""Use the catalog to list the conversations of a workspace.

A refresh calls `stat` once for each conversation, and reads the conversations that changed.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from cortext.catalog.rebuildable_database import Database, UnreadableError
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import FRESH_NS, ReadPosition, Source, StoredRow
from cortext.catalog.session_links import store_links
from cortext.catalog.source_refresh import (
    KnownFolders,
    KnownRows,
    PositionLoader,
    SourceChanges,
    refresh_source,
)
from cortext.catalog.workspace_scan import NO_CONVERSATION, ChangedDay, Scan, stat_files
from cortext.errors import SessionStorageError, file_and_reason

_log = logging.getLogger("cortext.catalog")

WORKSPACE = "workspace"
"""The `kind` of a source that is a workspace."""
_IDLE_MICROS = 2 * 86_400 * 1_000_000


class WorkspaceRefresh:
    """One refresh of the catalog rows of one workspace.

    After `run`, `unread` has the path of each folder that could not be read, with the reason.
    """

    def __init__(self, root: str) -> None:
        self.unread: list[str] = []
        self._root = root
        self._idle_since = int(time.time() * 1_000_000) - _IDLE_MICROS

    def run(self, database: Database) -> list[ConversationRow]:
        """Read the conversations that changed, and return the rows of all conversations."""
        source = Source(WORKSPACE, self._root)
        rows = refresh_source(database, source, self._find_changes, self._store_links)
        return _with_unique_keys([stored.row for stored in rows.values() if stored.row])

    def _find_changes(
        self, rows: KnownRows, folders: KnownFolders, load_position: PositionLoader
    ) -> SourceChanges:
        days = _known_days(rows, folders)
        scan = Scan(self._root, days, self._find_growing(rows))
        changed = [*scan.changed()]
        self.unread += scan.unread
        return self._read_changed(changed, days, rows, load_position, scan.began)

    def _find_growing(self, rows: KnownRows) -> dict[str, set[str]]:
        """Return the names of the conversations that may get new messages, by day folder.

        These are active and recently active conversations. New messages change only the message
        file, and not `session.json`. So the message file of these conversations must be checked
        too.
        """
        names: dict[str, set[str]] = {}
        for path, stored in rows.items():
            if stored.row and self._may_grow(stored.row):
                folder, _, name = path.rpartition("/")
                names.setdefault(folder, set()).add(name)
        return names

    def _may_grow(self, row: ConversationRow) -> bool:
        return row.status == "active" or row.last_active >= self._idle_since

    def _read_changed(
        self,
        changed: Sequence[ChangedDay],
        known: dict[str, ChangedDay],
        rows: KnownRows,
        load_position: PositionLoader,
        began: int,
    ) -> SourceChanges:
        """Read the conversations whose fingerprints differ from the catalog. Return the changes.

        `changed` has the state on disk of each day folder that changed. `known` has the day folders
        as they are in the catalog, by path, and `rows` has the rows in the catalog. `began` is the
        time when the scan started, in nanoseconds since 1970.
        """
        changes, gone = SourceChanges(), list[str]()
        for day in changed:
            old_fingerprints = known[day.folder].fingerprints if day.folder in known else {}
            for name, fingerprint in day.fingerprints.items():
                path = f"{day.folder}/{name}"
                if path not in rows or old_fingerprints.get(name) != fingerprint:
                    old = rows.get(path) or StoredRow("", None)
                    position = load_position(path) if old.row else None
                    changes.rows[path] = self._read_one(path, old.row, position, fingerprint, began)
            gone += [
                f"{day.folder}/{name}" for name in old_fingerprints if name not in day.fingerprints
            ]
        changes.gone = gone
        # Another conversation may be added within the same clock tick, without a new time.
        settled = began - FRESH_NS
        changes.folders = {
            day.folder: str(day.time if day.time < settled else 0)
            for day in changed
            if day.fingerprints
        }
        changes.gone_folders = [day.folder for day in changed if not day.fingerprints]
        return changes

    def _read_one(
        self,
        path: str,
        old: ConversationRow | None,
        position: ReadPosition | None,
        fingerprint: str,
        began: int,
    ) -> StoredRow:
        if fingerprint == NO_CONVERSATION:
            return StoredRow(fingerprint, None)
        from cortext.catalog.conversation_row_reader import read_conversation

        files = stat_files(f"{self._root}/{path}")
        if not files.is_conversation:
            return StoredRow("", None)
        known = position if old and not old.is_damaged else None
        try:
            read = read_conversation(self._root, path, known, files)
        except (OSError, SessionStorageError) as error:
            problem = file_and_reason(error).removeprefix("could not read ")
            self.unread.append(problem)
            _log.warning("could not read %s", problem)
            return StoredRow("", old, position)  # the next refresh reads the conversation again
        if read is None:
            return StoredRow("", None)
        row, position = read
        # A file that was just written can change again within the same clock tick.
        is_settled = files.latest < began - FRESH_NS
        settled = files.fingerprint(with_lines=self._may_grow(row)) if is_settled else ""
        return StoredRow(settled, row, position)

    def _store_links(self, db: sqlite3.Connection, changes: SourceChanges) -> None:
        store_links(db, self._root, {path: stored.row for path, stored in changes.rows.items()})
        store_links(db, self._root, dict.fromkeys(changes.gone))


def _known_days(rows: KnownRows, folders: KnownFolders) -> dict[str, ChangedDay]:
    """Return the day folders as they are in the catalog, by path."""
    try:
        days = {folder: ChangedDay(folder, int(time), {}) for folder, time in folders.items()}
    except ValueError as error:
        raise UnreadableError(f"a day cannot be read: {error}") from None
    for path, stored in rows.items():
        folder, _, name = path.rpartition("/")
        if folder not in days:
            days[folder] = ChangedDay(folder, 0, {})
        days[folder].fingerprints[name] = stored.fingerprint
    return days


def _with_unique_keys(rows: list[ConversationRow]) -> list[ConversationRow]:
    """Return the rows, with a longer key for each conversation whose id is not unique.

    The longer key is `DATE/ID`, or the path if `DATE/ID` is not unique either.
    """
    ids = Counter([row.key for row in rows])
    if len(ids) == len(rows):
        return rows
    addresses = Counter([row.address for row in rows])
    return [
        row
        if ids[row.key] == 1
        else replace(row, key=row.address if addresses[row.address] == 1 else row.path)
        for row in rows
    ]
