"""The index of a folder of session documents (JSON files with one session each).

With the index, a list of a large folder is fast.
"""

from __future__ import annotations

import builtins
import logging
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from cortext.catalog.documents import document_table
from cortext.catalog.rebuildable_database import MEMORY, Database, bounded
from cortext.durability.durable_files import replace, side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.errors import SessionLockedError, SessionStorageError
from cortext.model import json_codec
from cortext.model.ids import check_id
from cortext.model.session import Session
from cortext.model.session_summary import SessionSummary
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.ids_in_folder import is_id

T = TypeVar("T")
INDEX_VERSION = 1
# Modification times advance in steps of a few milliseconds. If a file changes twice in one step, a
# scan may see only the first change.
_SETTLED_NS = 20_000_000
_LARGE = 1000

log: logging.Logger = logging.getLogger("cortext.catalog")


@runtime_checkable
class IndexedStorage(Protocol):
    """The methods that a session store must have for a `SessionIndex`."""

    @property
    def storage_dir(self) -> os.PathLike[str]: ...

    @property
    def index_path(self) -> str: ...

    def list_session_ids(self) -> builtins.list[str]: ...

    def exists(self, id: str) -> bool: ...

    def summarize(self, id: str) -> SessionSummary: ...

    def fingerprint(self, id: str) -> Fingerprint | None: ...


class SessionIndex:
    """The summaries of all sessions in a document store, made from the session files.

    The summaries are in a SQLite database in the store's folder, and `index.json` is an export of
    this database. If one of the two is missing, damaged or outdated, it is updated from the session
    files. Only files that changed are read. A session that cannot be read is logged and left out.
    If the folder is not writable, the database is in memory, and there is no export.
    """

    def __init__(self, storage: IndexedStorage) -> None:
        self._storage = storage
        self._folder = os.fspath(storage.storage_dir)
        self._export_path = storage.index_path
        self._lock = threading.RLock()
        self._dirty = False
        self._changed_ids: set[str] = set()
        self._logged_errors: set[str] = set()
        with storage_errors("open the index of", self._folder):
            self._writable = _can_write(self._folder)
            self._table = Database(
                self._table_path(),
                schema=document_table.SCHEMA,
                version=document_table.SCHEMA_VERSION,
                name=f"the index of {self._folder}",
            )
            self._catch_up()

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and is_id(id) and self.get(id) is not None

    @property
    def is_dirty(self) -> bool:
        """Whether the index changed since `index.json` was written."""
        return self._dirty

    def add(self, session: Session) -> None:
        """Add the summary of a session to the index, or replace the session's older summary."""
        # This is the fingerprint of the file that this storage wrote. If another process has
        # replaced the file since, the fingerprints differ, and the next refresh reads the file.
        fingerprint = self._storage.fingerprint(session.id)
        summary = SessionSummary.from_session(session)
        with self._lock:
            self._changed_ids.discard(session.id)
            self._run(lambda db: document_table.put(db, summary, fingerprint))
            self._dirty = True

    update = add

    def note(self, id: str) -> None:
        """Record that a session's file changed, so that the next use of the index reads the file.

        A store calls this method through its callback `on_change`.
        """
        self._changed_ids.add(id)

    def remove(self, id: str) -> bool:
        """Remove a session from the index. Return False if the index did not have the session."""
        count = self._run(lambda db: document_table.drop(db, [check_id(id)]))
        self._dirty = self._dirty or bool(count)
        return bool(count)

    def get(self, id: str) -> SessionSummary | None:
        """Return the summary of a session; None if the index does not have the session."""
        rows = self._run(lambda db: _select_summaries(db, "WHERE id = ?", [check_id(id)]))
        return rows[0] if rows else None

    def get_recent(self, count: int = 10) -> builtins.list[SessionSummary]:
        """Return the summaries of the most recently updated sessions, the latest first."""
        return self.list(limit=count)

    def get_by_working_dir(
        self, working_dir: str | os.PathLike[str]
    ) -> builtins.list[SessionSummary]:
        """Return the summaries of all sessions with exactly this working folder.

        The most recently updated session comes first.
        """
        return self.list(working_dir=os.fspath(working_dir), limit=sys.maxsize)

    def count(self) -> int:
        """Return the number of sessions in the index."""
        return self._run(lambda db: db.execute("SELECT count(*) FROM sessions").fetchone()[0])

    def rebuild(self) -> int:
        """Read every session file again, write `index.json`, and return the number of sessions."""
        with self._lock, storage_errors("rebuild the index of", self._folder):
            self._run(document_table.clear)
            self._refresh()
            self._export()
            return self.count()

    def save_if_dirty(self) -> bool:
        """Write `index.json` if the index changed. Return whether the file was written."""
        with self._lock, storage_errors("write", self._export_path):
            if not self._dirty:
                return False
            self._export()
            return True

    def close(self) -> None:
        """Write `index.json` if the index changed, and close the database."""
        self.save_if_dirty()
        self._table.close()

    def list(
        self,
        *,
        limit: int = 50,
        offset: int = 0,
        sort_by: str = "updated_at",
        descending: bool | None = None,
        tags: Sequence[str] | None = None,
        search: str | None = None,
        working_dir: str | None = None,
        owner: str | None = None,
    ) -> builtins.list[SessionSummary]:
        """Return the summaries of the sessions that match all given filters.

        A session matches if it has all of the `tags`, if its working folder and its owner are
        exactly `working_dir` and `owner`, and if its title contains `search`. Times and numbers are
        sorted in descending order, titles and ids from A to Z; `descending` overrides this order.
        The first `offset` sessions are skipped, and at most `limit` sessions are returned. Raises
        ValueError for an unknown `sort_by`.
        """
        if isinstance(tags, str):
            raise ValueError(f"tags must be a list, such as [{tags!r}]")
        where, values = document_table.conditions(tags, search, working_dir, owner)
        order = document_table.order(sort_by, descending)
        values += [bounded(max(limit, 0)), bounded(max(offset, 0))]
        return self._run(
            lambda db: _select_summaries(db, f"{where} {order} LIMIT ? OFFSET ?", values)
        )

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the database in one transaction, and return its result.

        First, the sessions that `note` recorded are read again.
        """

        def operation() -> T:
            self._table.ready()
            if self._table.is_fresh:
                self._refresh()
            self._read_changed()
            return self._table.run(work)

        with self._lock, _database_errors(self._folder), storage_errors("use", self._folder):
            return self._table.repeat(operation)

    def _catch_up(self) -> None:
        """Update the index and `index.json`, unless the folder is known to be unchanged."""
        facts = self._run(_read_facts)
        export = Fingerprint.at(self._export_path)
        exported = facts.get("export") == str(export)
        if self._table.is_fresh or not (exported and facts.get("folder") == self._folder_time()):
            self._refresh()
            if not exported and self.count():
                self._export()

    def _folder_time(self) -> str:
        return str(os.stat(self._folder).st_mtime_ns)

    def _refresh(self) -> None:
        """Update the index from the session files. Only files that changed are read."""
        self._table.is_fresh = False
        started, folder_time = time.time_ns(), os.stat(self._folder).st_mtime_ns
        known = self._run(document_table.fingerprints)
        scanned = self._scan()
        changed = [id for id in scanned if known.get(id) != scanned[id]]
        deleted = [id for id in known if id not in scanned]
        summaries = [summary for id in changed if (summary := self._read_summary(id)) is not None]
        unreadable = {*changed}.difference(summary.id for summary in summaries)

        def write(db: sqlite3.Connection) -> None:
            for summary in summaries:
                document_table.put(db, summary, scanned[summary.id])
            document_table.drop(db, [*deleted, *unreadable])
            if started - folder_time > _SETTLED_NS:
                document_table.set_fact(db, "folder", str(folder_time))

        self._run(write)
        self._dirty = self._dirty or bool(summaries or deleted)

    def _read_changed(self) -> None:
        for id in tuple(self._changed_ids):
            summary = self._read_summary(id) if self._storage.exists(id) else None
            found = self._storage.fingerprint(id)
            self._table.run(partial(_put_or_drop, id=id, summary=summary, found=found))
            self._changed_ids.discard(id)
            self._dirty = True

    def _read_summary(self, id: str) -> SessionSummary | None:
        try:
            return self._storage.summarize(id)
        except SessionStorageError as error:
            # Every refresh finds the same unreadable file, so warn only once.
            if str(error) not in self._logged_errors:
                log.warning("not in the index: %s", error)
                self._logged_errors.add(str(error))
            return None

    def _scan(self) -> dict[str, Fingerprint]:
        folder_fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fingerprints: dict[str, Fingerprint] = {}
        try:
            for id in self._storage.list_session_ids():
                try:
                    fingerprints[id] = Fingerprint.of(os.stat(f"{id}.json", dir_fd=folder_fd))
                except FileNotFoundError:
                    continue
        finally:
            os.close(folder_fd)
        return fingerprints

    def _export(self) -> None:
        """Write `index.json`. A lock ensures that an older export does not replace a newer one."""
        if not self._writable:
            return
        with FileLock(f"{side_dir(self._folder)}/locks/index.json.lock", guards=self._export_path):
            self._write_export()
        self._dirty = False

    def _write_export(self) -> None:
        summaries = self._run(lambda db: _select_summaries(db, "ORDER BY id", []))
        # One session per line, for grep and diff.
        lines = b",\n".join(
            b'"%b":%b' % (s.id.encode(), json_codec.encode(s.to_dict())) for s in summaries
        )
        data = b'{"version":%d,"sessions":{\n%b\n}}\n' % (INDEX_VERSION, lines)
        written = replace(self._export_path, [data], temp_dir=side_dir(self._folder))
        settled = self._settled_time(len(summaries))

        def write(db: sqlite3.Connection) -> None:
            document_table.set_fact(db, "export", str(Fingerprint.of(written)))
            document_table.set_fact(db, "folder", settled)

        self._run(write)

    def _settled_time(self, count: int) -> str:
        """Return the folder's modification time if the index matches the folder, otherwise "".

        The caller stores this time. As long as the folder has the same time, the index is not
        compared with the folder again. A file that is added within the clock tick of the last
        change does not change the time, so this method first waits until the tick is over. `count`
        is the number of sessions. If it is small, the result is "", because comparing a small
        folder is fast.
        """
        if count < _LARGE:
            return ""
        folder_time = os.stat(self._folder).st_mtime_ns
        time.sleep(max(folder_time + _SETTLED_NS - time.time_ns(), 0) / 1e9)
        return str(folder_time) if self._run(document_table.fingerprints) == self._scan() else ""

    def _table_path(self) -> str:
        if not self._writable:
            return MEMORY
        return os.path.join(side_dir(self._folder), "index.sqlite3")


def _can_write(folder: str) -> bool:
    side = os.path.join(folder, ".cortext")
    return os.access(side if os.path.isdir(side) else folder, os.W_OK)


def _put_or_drop(
    db: sqlite3.Connection, *, id: str, summary: SessionSummary | None, found: Fingerprint | None
) -> None:
    if summary is None:
        document_table.drop(db, [id])
    else:
        document_table.put(db, summary, found)


def _read_facts(db: sqlite3.Connection) -> dict[str, Any]:
    return {name: document_table.get_fact(db, name) for name in ("export", "folder")}


def _select_summaries(
    db: sqlite3.Connection, clause: str, values: builtins.list[Any]
) -> builtins.list[SessionSummary]:
    # Every clause is fixed text; input of callers is only in `values`.
    rows = db.execute(f"SELECT summary FROM sessions {clause}", values)  # noqa: S608  see above
    return list(document_table.read_rows(rows))


@contextmanager
def _database_errors(folder: str) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if isinstance(error.__cause__, SessionLockedError):
            raise error.__cause__ from None
        raise SessionStorageError(
            f"the index of {folder} cannot be used: {error}",
            path=folder,
            hint="the sessions are not affected",
        ) from error
