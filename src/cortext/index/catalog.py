"""The catalog: what lists show of every conversation, derived from the files.

Refreshing it costs a `stat` for each conversation, and a read for each that changed. This
module is imported by every list, so what reads a conversation is imported when one changed.
"""

from __future__ import annotations

import builtins
import sqlite3
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from cortext import clock
from cortext.index.database import Database, is_damage
from cortext.index.scan import Day, scan, with_lines, without_lines
from cortext.stores.layout import Place, is_name

_VERSION = 1
_SCHEMA = """
CREATE TABLE conversations (
    root TEXT, path TEXT, key TEXT, kind TEXT, title TEXT, status TEXT, last_active INTEGER,
    messages INTEGER, summary TEXT, tags TEXT, note TEXT, more TEXT,
    id TEXT, created_at INTEGER, tokens INTEGER, PRIMARY KEY (root, path)
);
CREATE INDEX by_time ON conversations (root, last_active DESC, path);
CREATE INDEX by_id ON conversations (root, id);
CREATE INDEX by_status ON conversations (root, status);
CREATE TABLE days (root TEXT, folder TEXT, print TEXT, PRIMARY KEY (root, folder)) WITHOUT ROWID;
CREATE TABLE shown (terminal TEXT, number INTEGER, root TEXT, path TEXT,
    PRIMARY KEY (terminal, number)) WITHOUT ROWID;
CREATE TABLE told (root TEXT, path TEXT, paused_at INTEGER, PRIMARY KEY (root, path)) WITHOUT ROWID
"""
_LISTED = "root, path, key, kind, title, status, last_active, messages, summary, tags, note, more"
_FRESH_NS = 20_000_000
_RESTED_MICROS = 2 * 86_400 * 1_000_000
SEPARATOR = "\t"


class Listed(NamedTuple):
    """A conversation as lists show it: texts are clean and on one line. Times are microseconds
    since 1970; a status of "" is a folder without a session; `note` says what is wrong with its
    files; `tags` and `more` are several, with tabs between them."""

    root: str
    path: str
    key: str
    kind: str
    title: str
    status: str
    last_active: int
    messages: int
    summary: str
    tags: str
    note: str
    more: str

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def place(self) -> Place:
        shelf, day, name = self.path.rsplit("/", 2)
        return Place(f"{self.root}/{shelf}", day, name)

    @property
    def address(self) -> str:
        """What names it in its workspace for certain: `DATE/ID`."""
        return "/".join(self.path.rsplit("/", 2)[1:])

    @property
    def active_at(self) -> datetime:
        return clock.from_micros(self.last_active)

    @property
    def tag_list(self) -> list[str]:
        return self.tags.split(SEPARATOR) if self.tags else []

    @property
    def created_at(self) -> int:
        return int(self.more.split(SEPARATOR)[0])

    @property
    def tokens(self) -> int:
        return int(self.more.split(SEPARATOR)[1])

    @property
    def model(self) -> str:
        return self.more.split(SEPARATOR)[2]

    @property
    def agent(self) -> str:
        return self.more.split(SEPARATOR)[3]

    @property
    def parent_id(self) -> str:
        return self.more.split(SEPARATOR)[4]


class Wanted(NamedTuple):
    """What a list is to hold; `None` and empty mean anything. Of an active conversation that
    rested since before `idle_before` lists say that it is paused."""

    kind: str | None = None
    status: str | None = None
    tags: Sequence[str] = ()
    since: int | None = None
    with_session: bool = False
    order: str = "updated_at"
    idle_before: int = 0
    limit: int | None = None


EVERYTHING = Wanted()


class Catalog:
    """The conversations of any number of workspaces. `path` is the database's."""

    def __init__(self, path: str) -> None:
        self._database = Database(path, schema=_SCHEMA, version=_VERSION)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    def purge(self) -> None:
        """Forget what is not there any more, also in the pages that it stood on."""
        roots = self._database.run(
            lambda db: [root for (root,) in db.execute("SELECT DISTINCT root FROM conversations")]
        )
        self.list(roots)
        self._database.compact()

    def list(self, roots: Sequence[str], wanted: Wanted = EVERYTHING) -> builtins.list[Listed]:
        """What these workspaces hold now, the latest first."""
        try:
            return self._list(roots, wanted)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                raise
            import logging

            logging.getLogger("cortext.index").warning("the catalog is made anew: %s", error)
            self._database.discard()
            return self._list(roots, wanted)

    def _list(self, roots: Sequence[str], wanted: Wanted) -> builtins.list[Listed]:
        for root in roots:
            self._refresh(root)
        return self._rows(roots, wanted)

    def _refresh(self, root: str) -> None:
        """Read the conversations of a workspace that changed since they were last read."""
        known = self._database.run(lambda db: _days(db, root))
        going_on = self._database.run(lambda db: _going_on(db, root))
        days = [*scan(root, known, going_on)]
        if days:
            self._update(root, days, known)

    def _rows(self, roots: Sequence[str], wanted: Wanted = EVERYTHING) -> builtins.list[Listed]:
        where, values = _conditions(roots, wanted)
        shown = _LISTED.replace(" status,", f" {_STATUS} AS status,")
        # The names are ours; what callers give comes in `values`.
        query = f"SELECT {shown} FROM conversations WHERE {where}"  # noqa: S608  as said above
        query += f" ORDER BY {_ORDERS[wanted.order]}, path DESC LIMIT ?"
        limit = -1 if wanted.limit is None else wanted.limit
        arguments = [wanted.idle_before, *values, limit]
        return self._database.run(lambda db: [*map(Listed._make, db.execute(query, arguments))])

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

    def _update(self, root: str, days: Sequence[Day], known: dict[str, str]) -> None:
        from cortext.index.reading import read_conversation

        old = {row.path: row for row in self._rows([root])}
        read: builtins.list[Listed] = []
        prints: dict[str, str] = {}
        limit = _rested_before()
        for folder, entries in days:
            before = {e.partition("\t")[0]: e for e in known.get(folder, "").split("\n")}
            for name, entry in entries.items():
                path = f"{folder}/{name}"
                if before.get(name) != entry and is_name(name):
                    now = with_lines(entry, root, path)
                    row = read_conversation(root, path, old.get(path), before.get(name, ""), now)
                    if row is None:
                        continue
                    read.append(row)
                    rests = row.status != "active" and row.last_active < limit
                    entries[name] = _trusted(without_lines(now) if rests else now)
            prints[folder] = "\n".join(entries.values())

        def write(db: sqlite3.Connection) -> None:
            present = {f"{day.folder}/{name}" for day in days for name in day.entries}
            touched = tuple(f"{day.folder}/" for day in days)
            gone = [path for path in old if path.startswith(touched) and path not in present]
            for row in read:
                _put(db, row)
            for path in gone:
                db.execute("DELETE FROM conversations WHERE root = ? AND path = ?", (root, path))
            _name(db, root, {path.rpartition("/")[2] for path in (*gone, *(r.path for r in read))})
            for folder, print in prints.items():
                db.execute("INSERT OR REPLACE INTO days VALUES (?,?,?)", (root, folder, print))

        self._database.run(write)


_ORDERS = {
    "updated_at": "last_active DESC",
    "created_at": "created_at DESC",
    "title": "title COLLATE NOCASE",
    "id": "id",
    "message_count": "messages DESC",
    "total_tokens": "tokens DESC",
}
_STATUS = "CASE WHEN status = 'active' AND last_active < ? THEN 'idle' ELSE status END"


def _conditions(roots: Sequence[str], wanted: Wanted) -> tuple[str, list[str | int]]:
    parts = [f"root IN ({','.join('?' * len(roots))})"]
    values: list[str | int] = [*roots]
    if wanted.kind:
        parts.append("kind = ?")
        values.append(wanted.kind)
    if wanted.status:
        parts.append(f"replace({_STATUS}, 'idle', 'paused') = ?")
        values += [wanted.idle_before, wanted.status]
    for tag in wanted.tags:
        parts.append("instr(? || tags || ?, ?)")
        values += [SEPARATOR, SEPARATOR, f"{SEPARATOR}{tag}{SEPARATOR}"]
    if wanted.since is not None:
        parts.append("last_active >= ?")
        values.append(wanted.since)
    if wanted.with_session:
        parts.append("status <> ''")
    return " AND ".join(parts), values


def _days(db: sqlite3.Connection, root: str) -> dict[str, str]:
    return dict(db.execute("SELECT folder, print FROM days WHERE root = ?", (root,)))


def _going_on(db: sqlite3.Connection, root: str) -> dict[str, set[str]]:
    """The names of the conversations that lines may have come to, by folder."""
    paths = db.execute(
        "SELECT path FROM conversations WHERE root = ?1 AND status = 'active'"
        " UNION SELECT path FROM conversations WHERE root = ?1 AND last_active >= ?2",
        (root, _rested_before()),
    )
    found: dict[str, set[str]] = {}
    for (path,) in paths:
        folder, _, name = path.rpartition("/")
        found.setdefault(folder, set()).add(name)
    return found


def _rested_before() -> int:
    return int(time.time() * 1_000_000) - _RESTED_MICROS


def _put(db: sqlite3.Connection, row: Listed) -> None:
    values = (*row, row.id, row.created_at, row.tokens)
    places = ",".join("?" * len(values))
    # Only question marks are put into it.
    query = f"INSERT OR REPLACE INTO conversations VALUES ({places})"  # noqa: S608  as said above
    db.execute(query, values)


def _name(db: sqlite3.Connection, root: str, names: Iterable[str]) -> None:
    """An id alone names a conversation unless several days have it."""
    for name in names:
        paths = "SELECT path FROM conversations WHERE root = ? AND id = ?"
        found = [path for (path,) in db.execute(paths, (root, name))]
        for path in found:
            key = name if len(found) == 1 else "/".join(path.split("/")[-2:])
            db.execute(
                "UPDATE conversations SET key = ? WHERE root = ? AND path = ?", (key, root, path)
            )


def _trusted(entry: str) -> str:
    """A file that was written just now may be written again within the same tick of the clock:
    its entry is stored as one that no file has."""
    times = [int(each.rpartition(" ")[2] or 0) for each in entry.split("\t")[1:]]
    return "" if max(times) > time.time_ns() - _FRESH_NS else entry
