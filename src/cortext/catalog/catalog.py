"""The catalog: what lists show of every conversation, derived from the files.

A refresh costs a `stat` for each conversation, and a read for each that changed. Every list imports
this module; the modules that read a conversation are imported when one changed.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from cortext import paths
from cortext.catalog import program_documents, row_table
from cortext.catalog import tool_sessions as tools
from cortext.catalog.database import Database, Unreadable, is_damage
from cortext.catalog.row import ConversationRow, recency
from cortext.catalog.row_table import FRESH_NS, Source, StoredRow
from cortext.catalog.workspace_scan import NO_CONVERSATION, ChangedDay, Scan, stat_files
from cortext.durability.replace_file import make_private_dir, remove_if_there
from cortext.errors import SessionStorageError, reason_of

T = TypeVar("T")
WORKSPACE = "workspace"
"""The kind of source that a workspace is."""
_VERSION = 11
_SCHEMA = f"""
{row_table.SCHEMA};
CREATE TABLE shown (terminal TEXT, number INTEGER, root BLOB, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root BLOB, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID;
{tools.SCHEMA}"""
_RESTED_MICROS = 2 * 86_400 * 1_000_000


class NoPlaceError(Exception):
    """There cannot be a database where it should be."""


class _CatalogFile(Database):
    """Made with its folder when it is needed. Tells what is wrong with its own file from what is
    wrong with a workspace's."""

    def _open(self) -> sqlite3.Connection:
        try:
            if self._db is None and self._path != ":memory:":
                make_private_dir(os.path.dirname(self._path))
            return super()._open()
        except OSError as error:
            raise NoPlaceError(reason_of(error)) from error

    def _remove(self) -> None:
        try:
            super()._remove()
        except OSError as error:
            raise NoPlaceError(reason_of(error)) from error

    def remove_own(self) -> None:
        try:
            super().remove_own()
        except OSError as error:
            raise NoPlaceError(reason_of(error)) from error


class Catalog:
    """The conversations of any number of workspaces. `path` is the database's."""

    def __init__(self, path: str) -> None:
        self.unread: builtins.list[str] = []
        """What could not be read, and why: there may be more than was listed."""
        self._database: Database = _CatalogFile(
            path, schema=_SCHEMA, version=_VERSION, name="the catalog"
        )
        self._left: Database | None = None
        """One on the disk that could not be used."""

    @classmethod
    def at_home(cls) -> Catalog:
        """The one of this user; where nothing can be written, one that lasts as long as we do."""
        path = paths.catalog()
        if not os.path.lexists(path):
            _remove_former(path)
        folder = os.path.dirname(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
        return cls(path if usable else ":memory:")

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def list(self, roots: Sequence[str]) -> builtins.list[ConversationRow]:
        """What these workspaces hold now, the latest first."""
        rows = self._safely(lambda: [row for root in roots for row in self._of(root)])
        rows.sort(key=recency, reverse=True)
        return rows

    def tool_sessions(
        self, known: Iterable[ConversationRow] = (), *, patience: float | None = None
    ) -> tools.ListedToolSessions:
        """The sessions of AI tools that no conversation holds, the latest first: not one of
        `known`, which was listed just now, nor one elsewhere; and those that one of `known` holds
        and of which more may be said by now. With `patience`, after so many seconds those that
        nobody looked at yet are left for another time."""
        began = time.time_ns()
        looks = tools.look_around()
        if not (self._database.is_there or any(look.print for look in looks.values())):
            return tools.ListedToolSessions([], changed=False, left=0, there=False)
        found = self._safely(lambda: tools.refresh(self._database.run, looks, began, patience))
        if not found.rows:
            return found
        held = {id for row in known for id in row.session_ids}
        of_known = [row for row in found.rows if row.key in held] if held else []
        grown = self._run(lambda db: tools.grown(db, of_known)) if of_known else ()
        bound = self._run(tools.bound)
        ids = {row.key for row in found.rows} if bound else set[str]()
        for id, folder in bound:
            if id in ids and id not in held and os.path.isdir(folder):
                held.add(id)
        rows = [row for row in found.rows if row.key not in held] if held else found.rows
        rows.sort(key=recency, reverse=True)
        return found._replace(rows=rows, grown=grown)

    def conversations_of_session(self, session_id: str) -> builtins.list[tuple[str, str]]:
        """Return workspace and path of the conversations that a tool's session is bound to, as the
        last refresh or `add_link` knew them, the latest first. Nothing is refreshed."""
        return self._run(lambda db: tools.load_links(db, session_id))

    def add_link(self, root: str, path: str, session_id: str) -> None:
        """Store that a tool's session was bound to a conversation just now."""
        self._run(lambda db: tools.add_link(db, root, path, session_id))

    def known_workspaces(self) -> builtins.list[str]:
        """Return the workspaces that have conversations, as of their last refresh."""
        return self._run(lambda db: row_table.source_names(db, WORKSPACE))

    def known_rows(self, root: str) -> builtins.list[ConversationRow]:
        """Return the conversations of a workspace as of its last refresh."""
        rows = self._run(lambda db: row_table.load_rows(db, Source(WORKSPACE, root)))
        return [stored.row for stored in rows.values() if stored.row]

    def remember_taken(self, sessions: Iterable[ConversationRow]) -> None:
        """All that is said in these sessions now was taken into their conversations."""
        self._run(lambda db: tools.store_captured(db, sessions))

    def document_sessions(
        self, shelves: Sequence[program_documents.DocumentFolder], *, patience: float | None = None
    ) -> program_documents.ListedDocuments:
        """The sessions that programs keep as documents in these folders. With `patience`, after so
        many seconds those that nobody looked at yet are left for another time."""
        began = time.time_ns()
        return self._safely(
            lambda: program_documents.refresh(self._database.run, shelves, began, patience)
        )

    def copies(self, known: Iterable[ConversationRow]) -> dict[str, int]:
        """The sessions of `aur spawn` and of programs that conversations were made of, TOOL:ID,
        and when the last of these was active: of `known`, which was listed just now, and others."""
        found: dict[str, int] = {}
        for id, folder, at in self._run(tools.copied):
            if at > found.get(id, 0) and os.path.isdir(folder):
                found[id] = at
        for row in known:
            for id in row.source_ids:
                found[id] = max(row.last_active, found.get(id, 0))
        return found

    def purge(self, shelves: Collection[str] | None = None) -> None:
        """Forget what is not there any more, also in the pages that it stood on; of documents, also
        what is in other folders than these, which nobody lists or looks into now."""
        there = {
            (os.fsencode(row.workspace), row.path) for row in self.list(self.known_workspaces())
        }
        self._run(tools.forget_unmasked)
        self.tool_sessions()

        def write(db: sqlite3.Connection) -> None:
            told = db.execute("SELECT root, path FROM told").fetchall()
            gone = [row for row in told if tuple(row) not in there]
            db.executemany("DELETE FROM told WHERE root = ? AND path = ?", gone)
            db.execute("DELETE FROM shown")
            program_documents.forget_gone(db, shelves)

        self._run(write)
        self._safely(self._database.purge)
        if self._left is None:
            return
        try:
            self._left.remove_own()
        except NoPlaceError as error:
            raise SessionStorageError(f"could not remove the catalog: {error}") from error

    def remember_shown(self, terminal: str, rows: Iterable[ConversationRow]) -> None:
        """The numbers that a list had in a terminal, for the next command there."""
        numbered = [
            (terminal, n, os.fsencode(root), path)
            for n, (root, path) in enumerate((row.identity for row in rows), 1)
        ]

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM shown WHERE terminal = ?", (terminal,))
            db.executemany("INSERT INTO shown VALUES (?,?,?,?)", numbered)

        self._run(write)

    def shown(self, terminal: str, number: int) -> tuple[str, str] | None:
        """The identity of what had this number in the last list of a terminal."""
        query = "SELECT root, path FROM shown WHERE terminal = ? AND number = ?"
        found = self._run(lambda db: db.execute(query, (terminal, number)).fetchone())
        return (os.fsdecode(found[0]), found[1]) if found else None

    def find_unannounced(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return the rows that were not announced as paused since they were last active."""
        return self._run(lambda db: _find_unannounced(db, rows))

    def tell_once(self, rows: Iterable[ConversationRow]) -> builtins.list[ConversationRow]:
        """Return what `find_unannounced` returns, and note these rows as announced."""

        def write(db: sqlite3.Connection) -> builtins.list[ConversationRow]:
            new = _find_unannounced(db, rows)
            db.executemany("INSERT OR REPLACE INTO told VALUES (?,?,?)", map(_told_key, new))
            return new

        return self._run(write)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._safely(lambda: self._database.run(work))

    def _safely(self, work: Callable[[], T]) -> T:
        """Do it, if need be with the catalog made anew, or, where there cannot be one, with one
        that lasts as long as we do."""
        try:
            return work()
        except (sqlite3.Error, UnicodeDecodeError, NoPlaceError) as error:
            self._begin_anew(error)
        try:
            return work()
        except (sqlite3.Error, NoPlaceError) as error:
            self._begin_anew(error, in_memory=True)
        return work()

    def _begin_anew(self, error: Exception, *, in_memory: bool = False) -> None:
        import logging

        log = logging.getLogger("cortext.catalog")
        damaged = not isinstance(error, sqlite3.DatabaseError) or is_damage(error)
        if damaged and not in_memory and not isinstance(error, NoPlaceError):
            try:
                self._database.discard()
            except (sqlite3.Error, NoPlaceError) as failure:
                error = failure
            else:
                log.warning("the catalog is made anew: %s", error)
                return
        log.warning("lists take longer, because the catalog cannot be used: %s", error)
        self._database.close()
        self._left = self._left or self._database
        self._database = Database(":memory:", schema=_SCHEMA, version=_VERSION)

    def _of(self, root: str) -> builtins.list[ConversationRow]:
        """Return the conversations of one workspace, after reading those that changed."""
        source = Source(WORKSPACE, root)
        rows, days = self._database.run(
            lambda db: (row_table.load_rows(db, source), row_table.load_folders(db, source))
        )
        try:
            known = {folder: ChangedDay(folder, int(time), {}) for folder, time in days.items()}
        except ValueError as error:
            raise Unreadable(f"a day cannot be read: {error}") from None
        limit = int(time.time() * 1_000_000) - _RESTED_MICROS
        active: dict[str, set[str]] = {}
        for path, stored in rows.items():
            folder, _, name = path.rpartition("/")
            if folder not in known:
                known[folder] = ChangedDay(folder, 0, {})
            known[folder].fingerprints[name] = stored.fingerprint
            if stored.row and _may_grow(stored.row, limit):
                active.setdefault(folder, set()).add(name)
        scan = Scan(root, known, active)
        changed = [*scan.changed()]
        self.unread += scan.unread
        if changed:
            self._update(source, changed, known, rows, limit, scan.began)
        return _with_unique_keys([stored.row for stored in rows.values() if stored.row])

    def _update(
        self,
        source: Source,
        days: Sequence[ChangedDay],
        known: dict[str, ChangedDay],
        rows: dict[str, StoredRow],
        limit: int,
        began: int,
    ) -> None:
        """Read the conversations of some days that changed, and store them."""
        new: dict[str, StoredRow] = {}
        gone: builtins.list[str] = []
        for day in days:
            before = known[day.folder].fingerprints if day.folder in known else {}
            for name, fingerprint in day.fingerprints.items():
                path = f"{day.folder}/{name}"
                if path not in rows or before.get(name) != fingerprint:
                    old = rows[path].row if path in rows else None
                    new[path] = _read(source.name, path, old, fingerprint, limit, began)
            gone += [f"{day.folder}/{name}" for name in before if name not in day.fingerprints]
        for path in gone:
            del rows[path]
        rows.update(new)
        times = {day.folder: str(day.time) for day in days if day.fingerprints}
        empty = [day.folder for day in days if not day.fingerprints]

        def write(db: sqlite3.Connection) -> None:
            row_table.store_rows(db, source, new, gone)
            row_table.store_folders(db, source, times, empty)
            tools.store_links(db, source.name, {path: stored.row for path, stored in new.items()})
            tools.store_links(db, source.name, dict.fromkeys(gone))

        self._database.run(write)


def _remove_former(path: str) -> None:
    """The catalog was with the data once; there is nothing in it that is not elsewhere."""
    former = paths.former_catalog()
    if former == path or not os.path.lexists(former):
        return
    try:
        for suffix in ("", "-wal", "-shm"):
            remove_if_there(former + suffix)
    except OSError as error:
        import logging

        logging.getLogger("cortext.catalog").info("%s is of no use any more: %s", former, error)


def _read(
    root: str, path: str, old: ConversationRow | None, fingerprint: str, limit: int, began: int
) -> StoredRow:
    """Read one conversation that changed."""
    if fingerprint == NO_CONVERSATION:
        return StoredRow(fingerprint, None)
    from cortext.catalog.workspace_rows import read_conversation

    files = stat_files(f"{root}/{path}")
    row = read_conversation(root, path, old, files) if files.is_conversation else None
    # A file that was just written may be written again within the same tick of the clock.
    if row is None or files.latest >= began - FRESH_NS:
        return StoredRow("", row)
    return StoredRow(files.fingerprint(with_lines=_may_grow(row, limit)), row)


def _may_grow(row: ConversationRow, limit: int) -> bool:
    """Whether lines may be added to a conversation without a new head."""
    return row.status == "active" or row.last_active >= limit


def _with_unique_keys(rows: list[ConversationRow]) -> list[ConversationRow]:
    """Give the conversations whose id is not unique their address or path as key."""
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


def _find_unannounced(
    db: sqlite3.Connection, rows: Iterable[ConversationRow]
) -> list[ConversationRow]:
    told = {tuple(row) for row in db.execute("SELECT root, path, paused_at FROM told")}
    return [row for row in rows if _told_key(row) not in told]


def _told_key(row: ConversationRow) -> tuple[bytes, str, int]:
    return os.fsencode(row.workspace), row.path, row.last_active
