"""Logs as lists show them, derived from the files: the sessions of `aur spawn`, and of programs.

A list costs a `stat` for each session, and a read for each that changed. This module is imported
by every such list, so what reads a session is imported when one changed.
"""

from __future__ import annotations

import builtins
import os
import sqlite3
import time
from collections.abc import Callable
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from cortext.catalog.database import Database, bounded, is_damage
from cortext.catalog.packed_rows import Packs
from cortext.catalog.row import AUR, Listed, latest
from cortext.catalog.workspace_scan import FRESH_NS
from cortext.durability.read_files import stat_all
from cortext.durability.replace_file import side_dir, storage_errors

T = TypeVar("T")
SUFFIX = ".jsonl"
_VERSION = 5
_PACKS = Packs(
    "sessions", ("id", "root", "status", "text"), ("time", "size", "inode", "last_active")
)
_SCHEMA = f"""
CREATE TABLE sessions (number INTEGER PRIMARY KEY, id TEXT UNIQUE, root TEXT, status TEXT,
    text TEXT, time INTEGER, size INTEGER, inode INTEGER, last_active INTEGER);
CREATE TABLE folder (time INTEGER);
{_PACKS.schema}
"""
_PUT = """
INSERT INTO sessions (id, root, status, text, time, size, inode, last_active)
VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET
    root = excluded.root, status = excluded.status, text = excluded.text, time = excluded.time,
    size = excluded.size, inode = excluded.inode, last_active = excluded.last_active"""
_Fields = tuple[str, str, str, str, int, str]
_Stored = tuple[str, str, str, str, int, int, int, int]
# Listed(…) itself takes as long as the look at a file does.
_new: Callable[[type[Listed], _Fields], Listed] = tuple[Any, ...].__new__


class Read(NamedTuple):
    """A session that was read: its row, and the fingerprint of the file, or None where that does
    not tell whether it changes."""

    row: Listed
    found: tuple[int, int, int] | None


class _Look(NamedTuple):
    """A look at the folder that is open as `fd`: when it began, and the folder's time."""

    fd: int
    began: int
    time: int

    def is_settled(self, time: int) -> bool:
        """Whether what was written at a time would have another, were it written again."""
        return time < self.began - FRESH_NS


class _Known(NamedTuple):
    """What was found the last time, by columns, and the time that the folder had."""

    ids: list[str]
    roots: list[str]
    statuses: list[str]
    texts: list[str]
    times: list[int]
    sizes: list[int]
    inodes: list[int]
    active: list[int]
    time: int

    def changed(self, now: list[int]) -> set[int]:
        """Which are not as they were, as `stat_all` found them."""
        then = [self.times, self.sizes, self.inodes]
        columns = [now[at::3] for at in range(3)]
        if columns == then:
            return set()
        return {
            at
            for was, is_now in zip(then, columns, strict=True)
            for at, (old, new) in enumerate(zip(was, is_now, strict=True))
            if old != new
        }

    def stored(self, at: int) -> _Stored:
        """The row of the table."""
        texts = self.ids[at], self.roots[at], self.statuses[at], self.texts[at]
        return (*texts, self.times[at], self.sizes[at], self.inodes[at], self.active[at])


class SpawnIndex:
    """The sessions of one folder, as those of a tool. The files are the truth: whatever is wrong
    with the database, it is made anew, and where nothing can be written it lasts as long as we do.

    A row's `last_active` is the time of the last turn, or of the beginning. What is active on
    disk is so while somebody has it open, and else interrupted, for which `lost` is the word. A
    damaged session is listed with a note; a torn last line is no damage.
    """

    def __init__(self, folder: str, tool: str = AUR, *, lost: str = "interrupted") -> None:
        self.tool = tool
        self._lost = lost
        self.folder: str = os.path.abspath(os.path.expanduser(folder))
        self._database: Database | None = None
        self._left: Database | None = None
        """One on the disk that could not be used."""

    def __enter__(self) -> SpawnIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def list(self) -> builtins.list[Listed]:
        """All that is there now, the latest first. SessionStorageError if the folder cannot be
        read."""
        with storage_errors("list", self.folder):
            try:
                fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                return []
            try:
                if not os.path.exists(self._path) and not _ids(fd):
                    return []
                rows = self._safely(lambda: self._refresh(fd))
            finally:
                os.close(fd)
        return rows

    def purge(self) -> None:
        """Forget what is not there any more, also in the pages that it stood on."""
        self.list()
        if self._database is not None:
            self._safely(self._database.purge)
        if self._left is not None:
            with storage_errors("remove", self._path):
                self._left.remove_own()

    @property
    def _path(self) -> str:
        return f"{self.folder}/.cortext/spawned.sqlite3"

    def _refresh(self, fd: int) -> builtins.list[Listed]:
        """The rows of the folder that is open, after reading what changed."""
        look = _Look(fd, time.time_ns(), os.fstat(fd).st_mtime_ns)
        live = Live(self.folder)
        known = self._run(_load)
        names = [id + SUFFIX for id in known.ids]
        changed = known.changed(stat_all(fd, names))
        rows = self._rows(known, names, live)
        if changed:
            rows = [row for at, row in enumerate(rows) if at not in changed]
        # The names in a folder whose time is the same are the same.
        same = known.time == look.time and look.is_settled(look.time)
        before = [known.stored(at) for at in changed]
        if same:
            new = {stored[0] for stored in before}
        else:
            new = _ids(fd).difference([row.key for row in rows])
        if new or not same:
            rows += self._read(new, before, look, live)
        rows.sort(key=latest, reverse=True)
        return rows

    def _rows(self, known: _Known, names: builtins.list[str], live: Live) -> builtins.list[Listed]:
        """What is known, as it is listed."""
        start, lost = f"{self.folder}/", self._lost
        paths = [start + name for name in names]
        statuses = [
            lost if status == "interrupted" or (status == "active" and id not in live) else status
            for status, id in zip(known.statuses, known.ids, strict=True)
        ]
        columns = known.roots, paths, known.ids, statuses, known.active, known.texts
        return [*map(_new, repeat(Listed), zip(*columns, strict=True))]

    def _read(
        self, new: set[str], changed: builtins.list[_Stored], look: _Look, live: Live
    ) -> builtins.list[Listed]:
        """Read the sessions that are new or changed, and remember them."""
        rows: builtins.list[Listed] = []
        before = {known[0]: known for known in changed}
        written: builtins.list[_Stored] = []
        for id in new:
            if not _is_session(self.folder, id):
                continue
            from cortext.catalog.log_rows import read_spawned

            known = before.get(id)
            read = read_spawned(self.folder, id, known and self._listed(known), self.tool)
            if read is None:
                continue
            row = read.row
            settled = read.found is not None and look.is_settled(read.found[2])
            found = read.found if read.found and settled else (0, 0, 0)
            inode, size, mtime = map(bounded, found)
            entry = (id, row.root, row.status, row.text, mtime, size, inode, row.last_active)
            if entry != known:
                written.append(entry)
            lost = row.status == "interrupted" or (row.status == "active" and id not in live)
            rows.append(row._replace(status=self._lost) if lost else row)
        there = {row.key for row in rows}
        gone = [(id,) for id in before if id not in there]
        # In the order of time, so that there is little to sort when they are listed.
        written.sort(key=itemgetter(7))
        self._run(lambda db: _store(db, written, gone, look))
        return rows

    def _listed(self, known: _Stored) -> Listed:
        id, root, status, text, *_, last = known
        return Listed(root, f"{self.folder}/{id}{SUFFIX}", id, status, last, text)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._database is None:
            side_dir(self.folder)
            self._database = Database(self._path, schema=_SCHEMA, version=_VERSION)
        return self._database.run(work)

    def _safely(self, work: Callable[[], T]) -> T:
        """Do it, if need be with the database made anew, or, where there cannot be one, with one
        that lasts as long as we do."""
        try:
            return work()
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._begin_anew(error)
        try:
            return work()
        except (sqlite3.Error, OSError) as error:
            self._in_memory(error)
        return work()

    def _begin_anew(self, error: Exception) -> None:
        damaged = not isinstance(error, sqlite3.DatabaseError) or is_damage(error)
        if damaged and self._database is not None and not isinstance(error, OSError):
            try:
                self._database.discard()
            except (sqlite3.Error, OSError) as failure:
                error = failure
            else:
                _log("the index of %s is made anew: %s", self.folder, error)
                return
        self._in_memory(error)

    def _in_memory(self, error: Exception) -> None:
        _log("lists of %s take longer, because there is no index: %s", self.folder, error)
        self.close()
        self._left = self._left or Database(self._path, schema=_SCHEMA, version=_VERSION)
        self._database = Database(":memory:", schema=_SCHEMA, version=_VERSION)


class Live:
    """The sessions of a folder that somebody has open now."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._marks: set[str] | None = None

    def __contains__(self, id: str) -> bool:
        if self._marks is None:
            self._marks = self._all_marks()
        if id not in self._marks:
            return False
        from cortext.durability.lifetime_lock import live_holder, mark_path

        try:
            return live_holder(mark_path(self._folder, id)) is not None
        except OSError:
            return False  # a link or a folder, which nobody of ours put there

    def _all_marks(self) -> set[str]:
        from cortext.durability.lifetime_lock import mark_path

        try:
            return set(os.listdir(mark_path(self._folder)))
        except OSError:
            return set()


def _load(db: sqlite3.Connection) -> _Known:
    times = db.execute("SELECT time FROM folder").fetchall()
    texts, numbers = _PACKS.load(db)
    ids, roots, statuses, shown = texts
    modified, sizes, inodes, active = numbers
    then = times[0][0] if len(times) == 1 else 0
    return _Known(ids, roots, statuses, shown, modified, sizes, inodes, active, then)


def _store(
    db: sqlite3.Connection, rows: list[_Stored], gone: list[tuple[str]], look: _Look
) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.executemany("DELETE FROM sessions WHERE id = ?", gone)
    db.executemany(_PUT, rows)
    _PACKS.fill(db)
    db.execute("DELETE FROM folder")
    if look.is_settled(look.time):
        db.execute("INSERT INTO folder VALUES (?)", (look.time,))


def _ids(fd: int) -> set[str]:
    """What the files of a folder are called that may be sessions."""
    cut = -len(SUFFIX)
    return {name[:cut] for name in os.listdir(fd) if name.endswith(SUFFIX)}


def _is_session(folder: str, id: str) -> bool:
    from cortext.stores.session_file_names import is_id

    return is_id(id) and not os.path.isdir(f"{folder}/{id}{SUFFIX}")


def _log(sentence: str, *facts: object) -> None:
    import logging

    logging.getLogger("cortext.catalog").info(sentence, *facts)
