"""The sessions that programs keep as documents, as the catalog lists them.

A refresh costs a `stat` for each document, and a read for each that changed. Nothing is written
into the folders: they are the programs'. This module is imported by lists where there is such a
folder, so what reads a document is imported when one changed.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from cortext.catalog.database import Unreadable
from cortext.catalog.row import DOCUMENT, Listed, tool_root
from cortext.catalog.workspace_scan import FRESH_NS
from cortext.errors import reason_of

SCHEMA = """
CREATE TABLE documents (folder BLOB, id TEXT, inode INTEGER, size INTEGER, time INTEGER,
    cwd TEXT, status TEXT, last_active INTEGER, text TEXT, PRIMARY KEY (folder, id)) WITHOUT ROWID
"""
_SUFFIX = ".json"
_INDEX = "index"
"""`index.json` is what a store exports of its index, and no session."""
_LARGEST_ID = 128
Run = Callable[[Callable[[sqlite3.Connection], Any]], Any]
Print = tuple[int, int, int]
Stored = tuple[str, int, int, int, str, str, int, str]
_Fields = tuple[str, str, str, str, int, str]
# Listed(…) itself takes as long as the look at a file does.
_new: Callable[[type[Listed], _Fields], Listed] = tuple[Any, ...].__new__


class Shelf(NamedTuple):
    """A folder of documents, and the project that those belong to which do not say where they were
    had; "" for none."""

    folder: str
    project: str = ""


class Row(NamedTuple):
    """What the catalog keeps of one document. With a status of "" there is nothing to list in it,
    and `text` says what is wrong with it."""

    id: str
    inode: int
    size: int
    time: int
    cwd: str
    status: str
    last_active: int
    text: str


class Refreshed(NamedTuple):
    """The sessions, and what is wrong with documents that have none."""

    rows: list[Listed]
    notes: list[str]


def refresh(
    run: Run, shelves: Sequence[Shelf], began: int, patience: float | None = None
) -> Refreshed:
    """Bring the catalog up to date with these folders, for about `patience` seconds. A session that
    several of them have is listed once: where it was last active."""
    end = None if patience is None else time.monotonic() + patience
    rows: list[Listed] = []
    notes: list[str] = []
    seen: set[tuple[int, int]] = set()
    for shelf in shelves:
        try:
            fd = os.open(shelf.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            notes.append(f"{shelf.folder}: {reason_of(error)}")
            continue
        try:
            there = os.fstat(fd)
            is_new = (there.st_dev, there.st_ino) not in seen and _is_text(shelf.folder)
            seen.add((there.st_dev, there.st_ino))
            found, left = _of(run, shelf.folder, fd, began, end) if is_new else ([], 0)
        except OSError as error:
            notes.append(f"{shelf.folder}: {reason_of(error)}")
            continue
        finally:
            os.close(fd)
        _add(found, shelf, rows, notes)
        if left:
            what = f"{left} {'document is' if left == 1 else 'documents are'} not read yet"
            notes.append(f"{shelf.folder}: {what}; the next list has more")
    return Refreshed(_once(rows) if len(seen) > 1 else rows, notes)


def _is_text(path: str) -> bool:
    """Whether a path can be shown and stored: a name that is no UTF-8 cannot."""
    return path.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in path)


def _add(found: Sequence[Stored], shelf: Shelf, rows: list[Listed], notes: list[str]) -> None:
    start, nowhere = f"{shelf.folder}/", tool_root(DOCUMENT, shelf.project)
    try:
        # A plain loop: this is what a list of many takes its time for.
        for id, _, _, _, cwd, status, last, text in found:
            if not status:
                if text:
                    notes.append(text)
                continue
            root = f"{DOCUMENT}:{cwd}" if cwd else nowhere
            rows.append(_new(Listed, (root, start + id + _SUFFIX, id, status, last, text)))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a document cannot be read: {error}") from None


def _of(run: Run, folder: str, fd: int, began: int, end: float | None) -> tuple[list[Stored], int]:
    """The documents of a folder that is open, after reading those that changed, the latest first,
    until a time; and how many of these are left."""
    key = os.fsencode(folder)
    query = "SELECT id, inode, size, time, cwd, status, last_active, text FROM documents"
    stored = run(lambda db: db.execute(f"{query} WHERE folder = ?", (key,)).fetchall())
    known: dict[str, Stored] = {row[0]: row for row in stored}
    rows: list[Stored] = []
    changed: list[tuple[int, str]] = []
    for id, now in _prints(fd):
        row = known.get(id)
        if row is not None and row[1:4] == now:
            rows.append(row)
            del known[id]
        else:
            changed.append((now[2], id))
    new, left = _read(folder, sorted(changed, reverse=True), began, end)
    unread = {id for _, id in left}
    # What there was no time for is as it was known.
    rows += [known[id] for id in unread if id in known]
    gone = known.keys() - {row.id for row in new} - unread
    if new or gone:
        run(lambda db: _store(db, key, new, gone))
    return [*rows, *new], len(left)


def _prints(fd: int) -> Iterator[tuple[str, Print]]:
    """The files of a folder that may be documents, and what tells whether each changed."""
    stat, cut = os.stat, -len(_SUFFIX)
    for name in os.listdir(fd):
        if not name.endswith(_SUFFIX) or len(name) > _LARGEST_ID - cut:
            continue
        try:
            found = stat(name, dir_fd=fd)
        except OSError:
            found = None
        if found is not None and name[:cut] != _INDEX:
            yield name[:cut], (found.st_ino, found.st_size, found.st_mtime_ns)


def _read(
    folder: str, changed: Sequence[tuple[int, str]], began: int, end: float | None
) -> tuple[list[Row], Sequence[tuple[int, str]]]:
    """Those of the documents for which there is time, and which are left."""
    rows: list[Row] = []
    for number, (_, id) in enumerate(changed):
        if end is not None and time.monotonic() > end:
            return rows, changed[number:]
        from cortext.catalog.document_rows import read_document

        row = read_document(folder, id)
        if row is not None:
            # One that was written just now may be written again within the same tick of the clock.
            settled = row.time < began - FRESH_NS
            rows.append(row if settled else row._replace(inode=0, size=0, time=0))
    return rows, ()


def _store(db: sqlite3.Connection, folder: bytes, new: Sequence[Row], gone: set[str]) -> None:
    db.executemany("DELETE FROM documents WHERE folder = ? AND id = ?", [(folder, i) for i in gone])
    db.executemany(
        "INSERT OR REPLACE INTO documents VALUES (?,?,?,?,?,?,?,?,?)",
        [(folder, *row) for row in new],
    )


def _once(rows: list[Listed]) -> list[Listed]:
    """Without the older of two that have one id and began at one time: they are one session."""
    counts = Counter([row.key for row in rows])
    if len(counts) == len(rows):
        return rows
    best: dict[tuple[str, int], Listed] = {}
    for row in rows:
        if counts[row.key] > 1:
            other = best.setdefault((row.key, row.created_at), row)
            if row.last_active > other.last_active:
                best[row.key, row.created_at] = row
    return [row for row in rows if counts[row.key] == 1 or best[row.key, row.created_at] is row]


def forget_gone(db: sqlite3.Connection, shelves: Collection[str] | None = None) -> None:
    """Forget the documents whose files are not there any more, and those that are in none of these
    folders."""
    known = db.execute("SELECT folder, id FROM documents").fetchall()
    gone = [
        (folder, id)
        for folder, id in known
        if (shelves is not None and os.fsdecode(folder) not in shelves)
        or not os.path.lexists(f"{os.fsdecode(folder)}/{id}{_SUFFIX}")
    ]
    db.executemany("DELETE FROM documents WHERE folder = ? AND id = ?", gone)
