"""The catalog: what lists show of every conversation, derived from the files.

A refresh costs a `stat` for each conversation, and a read for each that changed. A day is one
row of the database: a list reads a few hundred of them, not thousands. This module is imported
by every list, so what reads a conversation is imported when one changed.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from cortext import paths
from cortext.catalog import program_documents
from cortext.catalog import tool_sessions as tools
from cortext.catalog.database import Database, Unreadable, is_damage
from cortext.catalog.row import Listed, latest, pack, unpack
from cortext.catalog.workspace_scan import (
    FRESH_NS,
    Day,
    Known,
    Scan,
    is_nothing,
    with_lines,
    without_lines,
)
from cortext.durability.replace_file import make_private_dir, remove_if_there
from cortext.errors import SessionStorageError, reason_of

T = TypeVar("T")
_VERSION = 9
_SCHEMA = f"""
CREATE TABLE days (root BLOB, folder TEXT, print TEXT, rows TEXT, PRIMARY KEY (root, folder));
CREATE TABLE shown (terminal TEXT, number INTEGER, root BLOB, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root BLOB, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID;
{program_documents.SCHEMA};
{tools.SCHEMA}"""
_RESTED_MICROS = 2 * 86_400 * 1_000_000


class NoPlaceError(Exception):
    """There cannot be a database where it should be."""


class _File(Database):
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
        self._database: Database = _File(path, schema=_SCHEMA, version=_VERSION, name="the catalog")
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

    def list(self, roots: Sequence[str]) -> builtins.list[Listed]:
        """What these workspaces hold now, the latest first."""
        rows = self._safely(lambda: [row for root in roots for row in self._of(root)])
        rows.sort(key=latest, reverse=True)
        return rows

    def tool_sessions(
        self, known: Iterable[Listed] = (), *, patience: float | None = None
    ) -> tools.Refreshed:
        """The sessions of AI tools that no conversation holds, the latest first: not one of
        `known`, which was listed just now, nor one elsewhere; and those that one of `known` holds
        and of which more may be said by now. With `patience`, after so many seconds those that
        nobody looked at yet are left for another time."""
        began = time.time_ns()
        looks = tools.look_around()
        if not (self._database.is_there or any(look.print for look in looks.values())):
            return tools.Refreshed([], changed=False, left=0, there=False)
        found = self._safely(lambda: tools.refresh(self._database.run, looks, began, patience))
        if not found.rows:
            return found
        held = {id for row in known for id in row.native}
        of_known = [row for row in found.rows if row.key in held] if held else []
        grown = self._run(lambda db: tools.grown(db, of_known)) if of_known else ()
        bound = self._run(tools.bound)
        ids = {row.key for row in found.rows} if bound else set[str]()
        for id, folder in bound:
            if id in ids and id not in held and os.path.isdir(folder):
                held.add(id)
        rows = [row for row in found.rows if row.key not in held] if held else found.rows
        rows.sort(key=latest, reverse=True)
        return found._replace(rows=rows, grown=grown)

    def remember_taken(self, sessions: Iterable[Listed]) -> None:
        """All that is said in these sessions now was taken into their conversations."""
        self._run(lambda db: tools.put_taken(db, sessions))

    def document_sessions(
        self, shelves: Sequence[program_documents.Shelf], *, patience: float | None = None
    ) -> program_documents.Refreshed:
        """The sessions that programs keep as documents in these folders. With `patience`, after so
        many seconds those that nobody looked at yet are left for another time."""
        began = time.time_ns()
        return self._safely(
            lambda: program_documents.refresh(self._database.run, shelves, began, patience)
        )

    def copies(self, known: Iterable[Listed]) -> dict[str, int]:
        """The sessions of `aur spawn` and of programs that conversations were made of, TOOL:ID,
        and when the last of these was active: of `known`, which was listed just now, and others."""
        found: dict[str, int] = {}
        for id, folder, at in self._run(tools.copied):
            if at > found.get(id, 0) and os.path.isdir(folder):
                found[id] = at
        for row in known:
            for id in tools.made_of(row):
                found[id] = max(row.last_active, found.get(id, 0))
        return found

    def purge(self, shelves: Collection[str] | None = None) -> None:
        """Forget what is not there any more, also in the pages that it stood on; of documents, also
        what is in other folders than these, which nobody lists or looks into now."""
        query = "SELECT DISTINCT root FROM days"
        roots = self._run(lambda db: [os.fsdecode(root) for (root,) in db.execute(query)])
        there = {(os.fsencode(row.root), row.path) for row in self.list(roots)}
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

    def remember_shown(self, terminal: str, rows: Iterable[Listed]) -> None:
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

    def find_unannounced(self, rows: Iterable[Listed]) -> builtins.list[Listed]:
        """Return the rows that were not announced as paused since they were last active."""
        return self._run(lambda db: _find_unannounced(db, rows))

    def tell_once(self, rows: Iterable[Listed]) -> builtins.list[Listed]:
        """Return what `find_unannounced` returns, and note these rows as announced."""

        def write(db: sqlite3.Connection) -> builtins.list[Listed]:
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

    def _of(self, root: str) -> builtins.list[Listed]:
        """The conversations of one workspace, after reading those that changed."""
        query = "SELECT folder, print, rows FROM days WHERE root = ?"
        key = os.fsencode(root)
        days = self._database.run(lambda db: db.execute(query, (key,)).fetchall())
        try:
            known = {folder: Known.read(print) for folder, print, _ in days}
            rows = {folder: unpack(root, folder, text) for folder, _, text in days}
        except (ValueError, TypeError, AttributeError) as error:
            raise Unreadable(f"a day cannot be read: {error}") from None
        limit = int(time.time() * 1_000_000) - _RESTED_MICROS
        scan = Scan(root, known, {folder: _going_on(rows[folder], limit) for folder in rows})
        changed = [*scan.changed()]
        self.unread += scan.unread
        if changed:
            self._update(root, changed, known, rows, limit, scan.began)
        return _named([row for day in rows.values() for row in day])

    def _update(
        self,
        root: str,
        days: Sequence[Day],
        known: dict[str, Known],
        rows: dict[str, builtins.list[Listed]],
        limit: int,
        began: int,
    ) -> None:
        written: builtins.list[tuple[bytes, str, str, str]] = []
        for day in days:
            before = known[day.folder].entries() if day.folder in known else {}
            old = rows.get(day.folder, [])
            rows[day.folder] = _read_day(root, day, before, old, limit, began)
            print = "\n".join((str(day.time), *day.entries.values()))
            written.append((os.fsencode(root), day.folder, print, pack(rows[day.folder])))
        gone = [(os.fsencode(root), day.folder) for day in days if not day.entries]

        def write(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO days VALUES (?,?,?,?)", written)
            db.executemany("DELETE FROM days WHERE root = ? AND folder = ?", gone)
            tools.put_native(db, root, [(day.folder, rows[day.folder]) for day in days])

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


def _read_day(
    root: str, day: Day, before: dict[str, str], old: Sequence[Listed], limit: int, began: int
) -> list[Listed]:
    """The rows of a day: those that changed are read, and their entries brought up to date."""
    from cortext.catalog.workspace_rows import read_conversation

    rows: list[Listed] = []
    known = {row.id: row for row in old}
    for name, entry in day.entries.items():
        if is_nothing(entry):
            continue
        row = known.get(name)
        if row is None or before.get(name) != entry:
            path = f"{day.folder}/{name}"
            now = with_lines(entry, root, path)
            row = read_conversation(root, path, row, now)
            rests = row is not None and row.status != "active" and row.last_active < limit
            day.entries[name] = _trusted(without_lines(now) if rests else now, began)
        if row is not None:
            rows.append(row)
    return rows


def _going_on(rows: Iterable[Listed], limit: int) -> set[str]:
    """The names of the conversations that lines may have come to."""
    return {row.id for row in rows if row.status == "active" or row.last_active >= limit}


def _named(rows: list[Listed]) -> list[Listed]:
    """An id alone names a conversation unless several days have it, or even several folders."""
    ids = Counter([row.key for row in rows])
    if len(ids) == len(rows):
        return rows
    addresses = Counter([row.address for row in rows])
    return [
        row
        if ids[row.key] == 1
        else row._replace(key=row.address if addresses[row.address] == 1 else row.path)
        for row in rows
    ]


def _trusted(entry: str, began: int) -> str:
    """A file that was written just now may be written again within the same tick of the clock:
    its entry is stored as one that no file has."""
    times = [int(each.rpartition(" ")[2] or 0) for each in entry.split("\t")[1:]]
    if max(times) < began - FRESH_NS:
        return entry
    return entry.partition("\t")[0] + "\tjust now"


def _find_unannounced(db: sqlite3.Connection, rows: Iterable[Listed]) -> list[Listed]:
    told = {tuple(row) for row in db.execute("SELECT root, path, paused_at FROM told")}
    return [row for row in rows if _told_key(row) not in told]


def _told_key(row: Listed) -> tuple[bytes, str, int]:
    return os.fsencode(row.root), row.path, row.last_active
