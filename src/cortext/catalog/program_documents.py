"""List the sessions that programs store as documents (one JSON file each) through the catalog.

A refresh calls `stat` for each document and reads the documents that changed. It writes nothing to
the folders, because they belong to the programs.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cortext.catalog.database import Database
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import (
    Source,
    StoredRow,
    forget_source,
    load_fingerprints,
    source_names,
    store_rows,
)
from cortext.catalog.source_refresh import KnownFolders, KnownRows, SourceChanges, refresh_source
from cortext.errors import reason_of

_KIND = "document"
_SUFFIX = ".json"
_INDEX = "index"
"""The name, without suffix, of the file `index.json`, which is no session but a store's index."""
_LARGEST_ID = 128


class DocumentFolder(NamedTuple):
    """A folder of session documents.

    `project` is used as the working folder of documents that state none; "" for no such folder.
    """

    folder: str
    project: str = ""


class ListedDocuments(NamedTuple):
    """The rows of documents after a refresh.

    `notes` has a text for each document or folder that could not be read.
    """

    rows: list[ConversationRow]
    notes: list[str]


def refresh(
    database: Database, shelves: Sequence[DocumentFolder], began: int, patience: float | None = None
) -> ListedDocuments:
    """Refresh and return the rows of the documents in these folders.

    `began` is the time of the call in nanoseconds. Reading stops after about `patience` seconds;
    None means no limit. If several folders have the same session, only its most recently active row
    is returned.
    """
    end = None if patience is None else time.monotonic() + patience
    rows: list[ConversationRow] = []
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
            if not is_new:
                continue
            found, left = _list_folder(database, shelf.folder, fd, began, end)
        except OSError as error:
            notes.append(f"{shelf.folder}: {reason_of(error)}")
            continue
        finally:
            os.close(fd)
        _add(found, shelf, rows, notes)
        if left:
            what = f"{left} {'document is' if left == 1 else 'documents are'} not read yet"
            notes.append(f"{shelf.folder}: {what}; the next list has more")
    return ListedDocuments(_without_older(rows) if len(seen) > 1 else rows, notes)


def _is_text(path: str) -> bool:
    """Return whether a path is valid UTF-8, and so can be shown and stored."""
    return path.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in path)


def _add(
    found: Sequence[ConversationRow],
    shelf: DocumentFolder,
    rows: list[ConversationRow],
    notes: list[str],
) -> None:
    """Add the sessions of a folder to `rows`, and the notes of unreadable documents to `notes`."""
    for row in found:
        if not row.status:
            notes.append(row.note)
        elif shelf.project and not row.working_dir:
            rows.append(replace(row, working_dir=shelf.project))
        else:
            rows.append(row)


def _list_folder(
    database: Database, folder: str, fd: int, began: int, end: float | None
) -> tuple[list[ConversationRow], int]:
    """Read the changed documents of the open folder `fd`, the latest first, until the time `end`.

    Return the rows of all documents, and the number of changed documents that are not read yet.
    """
    left = 0

    def find_changes(known: KnownRows, _: KnownFolders) -> SourceChanges:
        nonlocal left
        there = dict(_stats(fd))
        changed = [
            (mtime, id)
            for id, (fingerprint, mtime) in there.items()
            if id not in known or known[id].fingerprint != fingerprint
        ]
        new, unread = _read(folder, sorted(changed, reverse=True), began, end)
        left = len(unread)
        # Keep the rows of documents that there was no time to read.
        kept = {*new, *unread}
        gone = {id for _, id in changed if id in known and id not in kept}
        return SourceChanges(new, gone | (known.keys() - there.keys()))

    rows = refresh_source(database, Source(_KIND, folder), find_changes)
    return [stored.row for stored in rows.values() if stored.row], left


def _stats(fd: int) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the id of each possible document, with its fingerprint and modification time."""
    stat, cut = os.stat, -len(_SUFFIX)
    for name in os.listdir(fd):
        if not name.endswith(_SUFFIX) or len(name) > _LARGEST_ID - cut:
            continue
        try:
            found = stat(name, dir_fd=fd)
        except OSError:
            found = None
        if found is not None and name[:cut] != _INDEX:
            fingerprint = f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
            yield name[:cut], (fingerprint, found.st_mtime_ns)


def _read(
    folder: str, changed: Sequence[tuple[int, str]], began: int, end: float | None
) -> tuple[dict[str, StoredRow], set[str]]:
    """Read changed documents until the time `end`.

    Return their rows, and the ids that are not read.
    """
    rows: dict[str, StoredRow] = {}
    for number, (_, id) in enumerate(changed):
        if end is not None and time.monotonic() > end:
            return rows, {id for _, id in changed[number:]}
        from cortext.catalog.document_row_reader import read_document

        read = read_document(folder, id)
        if read is not None:
            rows[id] = read.to_store(began)
    return rows, set()


def _without_older(rows: list[ConversationRow]) -> list[ConversationRow]:
    """Return the rows with each session once, the most recently active row of it.

    Rows with the same id and the same start time are one session.
    """
    counts = Counter([row.key for row in rows])
    if len(counts) == len(rows):
        return rows
    best: dict[tuple[str, int], ConversationRow] = {}
    for row in rows:
        if counts[row.key] > 1:
            other = best.setdefault((row.key, row.created_at), row)
            if row.last_active > other.last_active:
                best[row.key, row.created_at] = row
    return [row for row in rows if counts[row.key] == 1 or best[row.key, row.created_at] is row]


def forget_gone(db: sqlite3.Connection, shelves: Collection[str] | None = None) -> None:
    """Delete the catalog rows of documents that no longer exist.

    If `shelves` is given, rows of documents outside these folders are deleted as well.
    """
    for folder in source_names(db, _KIND):
        source = Source(_KIND, folder)
        if shelves is not None and folder not in shelves:
            forget_source(db, source)
            continue
        known = load_fingerprints(db, source)
        store_rows(
            db, source, {}, [id for id in known if not os.path.lexists(f"{folder}/{id}{_SUFFIX}")]
        )
