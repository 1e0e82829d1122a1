"""The catalog: what lists show of every conversation, derived from the files.

A refresh costs a `stat` for each conversation, and a read for each that changed. A day is one
row of the database: a list reads a few hundred of them, not thousands. This module is imported
by every list, so what reads a conversation is imported when one changed.
"""

from __future__ import annotations

import builtins
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from cortext.index.database import Database, is_damage
from cortext.index.listed import Listed, pack, unpack
from cortext.index.scan import Day, Scan, is_nothing, with_lines, without_lines
from cortext.stores.layout import is_name

_VERSION = 1
_SCHEMA = """
CREATE TABLE days (root TEXT, folder TEXT, print TEXT, rows TEXT, PRIMARY KEY (root, folder));
CREATE TABLE shown (terminal TEXT, number INTEGER, root TEXT, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root TEXT, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID
"""
_FRESH_NS = 20_000_000
_RESTED_MICROS = 2 * 86_400 * 1_000_000


class Catalog:
    """The conversations of any number of workspaces. `path` is the database's."""

    def __init__(self, path: str) -> None:
        self._database = Database(path, schema=_SCHEMA, version=_VERSION)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def list(self, roots: Iterable[str]) -> builtins.list[Listed]:
        """What these workspaces hold now, the latest first."""
        try:
            rows = [row for root in roots for row in self._of(root)]
        except (sqlite3.DatabaseError, UnicodeDecodeError, ValueError) as error:
            if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                raise
            import logging

            logging.getLogger("cortext.index").warning("the catalog is made anew: %s", error)
            self._database.discard()
            rows = [row for root in roots for row in self._of(root)]
        rows.sort(key=_time, reverse=True)
        return rows

    def purge(self) -> None:
        """Forget what is not there any more, also in the pages that it stood on."""
        query = "SELECT DISTINCT root FROM days"
        self.list(self._database.run(lambda db: [root for (root,) in db.execute(query)]))
        self._database.compact()

    def remember_shown(self, terminal: str, rows: Iterable[Listed]) -> None:
        """The numbers that a list had in a terminal, for the next command there."""
        numbered = [(terminal, n, row.root, row.path) for n, row in enumerate(rows, 1)]

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM shown WHERE terminal = ?", (terminal,))
            db.executemany("INSERT INTO shown VALUES (?,?,?,?)", numbered)

        self._database.run(write)

    def shown(self, terminal: str, number: int) -> tuple[str, str] | None:
        """Root and path of what had this number in the last list of a terminal."""
        query = "SELECT root, path FROM shown WHERE terminal = ? AND number = ?"
        return self._database.run(lambda db: db.execute(query, (terminal, number)).fetchone())

    def tell_once(self, rows: Iterable[Listed]) -> builtins.list[Listed]:
        """Those of the rows that were not yet named as paused since they were last active."""

        def write(db: sqlite3.Connection) -> builtins.list[Listed]:
            told = {tuple(row) for row in db.execute("SELECT root, path, paused_at FROM told")}
            new = [row for row in rows if (row.root, row.path, row.last_active) not in told]
            db.executemany(
                "INSERT OR REPLACE INTO told VALUES (?,?,?)",
                [(row.root, row.path, row.last_active) for row in new],
            )
            return new

        return self._database.run(write)

    def _of(self, root: str) -> builtins.list[Listed]:
        """The conversations of one workspace, after reading those that changed."""
        query = "SELECT folder, print, rows FROM days WHERE root = ?"
        days = self._database.run(lambda db: db.execute(query, (root,)).fetchall())
        known = {folder: print for folder, print, _ in days}
        rows = {folder: unpack(root, folder, text) for folder, _, text in days}
        limit = int(time.time() * 1_000_000) - _RESTED_MICROS
        scan = Scan(root, known, {folder: _going_on(rows[folder], limit) for folder in rows})
        changed = [*scan.changed()]
        if changed:
            self._update(root, changed, known, rows, limit)
        return _named([row for day in rows.values() for row in day])

    def _update(
        self,
        root: str,
        days: Sequence[Day],
        known: dict[str, str],
        rows: dict[str, builtins.list[Listed]],
        limit: int,
    ) -> None:
        written: builtins.list[tuple[str, str, str, str]] = []
        for day in days:
            before = {e.partition("\t")[0]: e for e in known.get(day.folder, "").split("\n")}
            rows[day.folder] = _read_day(root, day, before, rows.get(day.folder, []), limit)
            print = "\n".join(day.entries.values())
            written.append((root, day.folder, f"{day.time}\n{print}", pack(rows[day.folder])))

        gone = [(root, day.folder) for day in days if not day.entries]

        def write(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR REPLACE INTO days VALUES (?,?,?,?)", written)
            db.executemany("DELETE FROM days WHERE root = ? AND folder = ?", gone)

        self._database.run(write)


def _read_day(
    root: str, day: Day, before: dict[str, str], old: Sequence[Listed], limit: int
) -> list[Listed]:
    """The rows of a day: those that changed are read, and their entries brought up to date."""
    from cortext.index.reading import read_conversation

    rows: list[Listed] = []
    known = {row.id: row for row in old}
    for name, entry in day.entries.items():
        path = f"{day.folder}/{name}"
        if is_nothing(entry) or not is_name(name):
            continue
        row = known.get(name)
        if row is None or before.get(name) != entry:
            now = with_lines(entry, root, path)
            row = read_conversation(root, path, row, before.get(name, ""), now)
            rests = row is not None and row.status != "active" and row.last_active < limit
            day.entries[name] = _trusted(without_lines(now) if rests else now)
        if row is not None:
            rows.append(row)
    return rows


def _going_on(rows: Iterable[Listed], limit: int) -> set[str]:
    """The names of the conversations that lines may have come to."""
    return {row.id for row in rows if row.status == "active" or row.last_active >= limit}


def _named(rows: list[Listed]) -> list[Listed]:
    """An id alone names a conversation unless several days have it."""
    counts = Counter([row.key for row in rows])
    if len(counts) == len(rows):
        return rows
    return [row if counts[row.key] == 1 else row._replace(key=row.address) for row in rows]


def _time(row: Listed) -> tuple[int, str]:
    return row.last_active, row.path


def _trusted(entry: str) -> str:
    """A file that was written just now may be written again within the same tick of the clock:
    its entry is stored as one that no file has."""
    times = [int(each.rpartition(" ")[2] or 0) for each in entry.split("\t")[1:]]
    if max(times) < time.time_ns() - _FRESH_NS:
        return entry
    return entry.partition("\t")[0] + "\tjust now"
