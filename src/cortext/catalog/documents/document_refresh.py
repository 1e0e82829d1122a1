"""Use the catalog to list the sessions that programs store as documents (one JSON file each).

A refresh calls `stat` for each document, and reads the documents that changed. It never writes to
the folders of documents, because they belong to the programs.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cortext.catalog.rebuildable_database import Database
from cortext.catalog.row import ConversationRow
from cortext.catalog.row_table import (
    Source,
    StoredRow,
    forget_source,
    load_fingerprints,
    source_names,
    store_rows,
)
from cortext.catalog.source_refresh import KnownRows, SourceChanges, refresh_source
from cortext.errors import reason_of

_KIND = "document"
_SUFFIX = ".json"
_INDEX = "index"
"""The name, without suffix, of the file `index.json`. It is a store's index, and not a session."""
_LARGEST_ID = 128


class DocumentFolder(msgspec.Struct, frozen=True):
    """A folder of session documents.

    If a document does not state the working folder of its session, `project` is the working folder.
    It is "" if the working folder is unknown.
    """

    folder: str
    project: str = ""


class ListedDocuments(NamedTuple):
    """The rows of documents after a refresh.

    `notes` has a text for each document or folder that could not be read, and for each folder that
    was not read completely before the time limit.
    """

    rows: list[ConversationRow]
    notes: list[str]


def refresh(
    database: Database, shelves: Sequence[DocumentFolder], began: int, patience: float | None = None
) -> ListedDocuments:
    """Update the catalog rows of the documents in the folders `shelves`, and return the rows.

    `began` is the time when the refresh started, in nanoseconds since 1970. Reading stops after
    about `patience` seconds; None means no limit. If several folders have the same session, only
    its most recently active row is returned.
    """
    deadline = None if patience is None else time.monotonic() + patience
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
            status = os.fstat(fd)
            is_new = (status.st_dev, status.st_ino) not in seen and _is_text(shelf.folder)
            seen.add((status.st_dev, status.st_ino))
            if not is_new:
                continue
            found, unread = _list_folder(database, shelf.folder, fd, began, deadline)
        except OSError as error:
            notes.append(f"{shelf.folder}: {reason_of(error)}")
            continue
        finally:
            os.close(fd)
        _add_rows(found, shelf, rows, notes)
        if unread:
            note = f"{unread} {'document is' if unread == 1 else 'documents are'} not read yet"
            notes.append(f"{shelf.folder}: {note}; list again to see more")
    return ListedDocuments(_keep_latest(rows) if len(seen) > 1 else rows, notes)


def _is_text(path: str) -> bool:
    """Return whether a path is valid UTF-8, and so can be shown and stored."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def _add_rows(
    found: Sequence[ConversationRow],
    shelf: DocumentFolder,
    rows: list[ConversationRow],
    notes: list[str],
) -> None:
    """Add the rows of a document folder to `rows`, and notes about unreadable documents to `notes`.

    `found` has the rows of all documents in the folder `shelf`. If a row has no working folder, it
    gets the working folder `shelf.project`.
    """
    for row in found:
        if not row.status:
            notes.append(row.note)
        elif shelf.project and not row.working_dir:
            rows.append(replace(row, working_dir=shelf.project))
        else:
            rows.append(row)


def _list_folder(
    database: Database, folder: str, fd: int, began: int, deadline: float | None
) -> tuple[list[ConversationRow], int]:
    """Refresh the rows of the documents in the open folder `fd`, and return them.

    Changed documents are read until `deadline`, the latest first. The second value is the number of
    changed documents that were not read.
    """
    unread_count = 0

    def find_changes(known: KnownRows, *_: object) -> SourceChanges:
        nonlocal unread_count
        documents = dict(_stat_documents(fd))
        changed = [
            (mtime, id)
            for id, (fingerprint, mtime) in documents.items()
            if id not in known or known[id].fingerprint != fingerprint
        ]
        new, unread = _read_documents(folder, sorted(changed, reverse=True), began, deadline)
        unread_count = len(unread)
        # Keep the old rows of documents that were not read before the deadline.
        kept = {*new, *unread}
        gone = {id for _, id in changed if id in known and id not in kept}
        return SourceChanges(new, gone | (known.keys() - documents.keys()))

    rows = refresh_source(database, Source(_KIND, folder), find_changes)
    return [stored.row for stored in rows.values() if stored.row], unread_count


def _stat_documents(fd: int) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield `(id, (fingerprint, modification time))` for each file that may be a document.

    These are the files whose names end with `.json`, except `index.json`. `fd` is the open folder.
    """
    stat, cut = os.stat, -len(_SUFFIX)
    for name in os.listdir(fd):
        if not name.endswith(_SUFFIX) or len(name) > _LARGEST_ID - cut:
            continue
        try:
            status = stat(name, dir_fd=fd)
        except OSError:
            status = None
        if status is not None and name[:cut] != _INDEX:
            fingerprint = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
            yield name[:cut], (fingerprint, status.st_mtime_ns)


def _read_documents(
    folder: str, changed: Sequence[tuple[int, str]], began: int, deadline: float | None
) -> tuple[dict[str, StoredRow], set[str]]:
    """Read changed documents until `deadline`, and return their rows by id.

    `changed` has the modification time and the id of each document. `began` is the time when the
    refresh started, in nanoseconds since 1970. The second value has the ids of the documents that
    were not read before the deadline.
    """
    rows: dict[str, StoredRow] = {}
    for number, (_, id) in enumerate(changed):
        if deadline is not None and time.monotonic() > deadline:
            return rows, {id for _, id in changed[number:]}
        from cortext.catalog.documents.document_row_reader import read_document

        read = read_document(folder, id)
        if read is not None:
            rows[id] = read.to_store(began)
    return rows, set()


def _keep_latest(rows: list[ConversationRow]) -> list[ConversationRow]:
    """Return the rows without duplicates: of each session, only the most recently active row.

    Rows with the same id and the same start time are the same session.
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

    If `shelves` (folders of documents) is given, the rows of documents in all other folders are
    deleted too.
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
