"""The catalog table that stores one row for each conversation or session of a list.

Rows come from a *source*: a workspace, an AI tool, a folder of logs or a folder of documents. The
table stores a row with the fingerprint of its files (inode, size and modification time). A refresh
therefore reads only files that changed. A second table has the fingerprints of a source's folders.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from cortext.catalog.database import UnreadableError
from cortext.catalog.row import ConversationRow, decode_rows, encode_row
from cortext.stores.fingerprints import Fingerprint

SCHEMA = """
CREATE TABLE rows (kind TEXT, source BLOB, key BLOB, fingerprint BLOB, row BLOB,
    PRIMARY KEY (kind, source, key)) WITHOUT ROWID;
CREATE TABLE folders (kind TEXT, source BLOB, folder BLOB, fingerprint BLOB,
    PRIMARY KEY (kind, source, folder)) WITHOUT ROWID
"""
FRESH_NS = 20_000_000
"""Nanoseconds within which a file can change twice without getting a new modification time."""
# Python represents bytes of a file name that are not UTF-8 as lone surrogates.
_ANY = "surrogatepass"


class Source(NamedTuple):
    """Where a row comes from.

    `kind` is workspace, tool, log or document. `name` is the path of the folder, or the tool's
    name.
    """

    kind: str
    name: str


class StoredRow(Struct, gc=False):
    """A catalog row as the table stores it, with the fingerprint of its files.

    `row` is None if the files contain no conversation to list. `fingerprint` is "" if the next
    refresh must read the files again.
    """

    fingerprint: str
    row: ConversationRow | None


class ReadRow(NamedTuple):
    """A catalog row that was just read from a file, with the file's fingerprint.

    The fingerprint is None if the file could not be opened.
    """

    row: ConversationRow
    fingerprint: Fingerprint | None

    def to_store(self, began: int) -> StoredRow:
        """Return the row as the table stores it.

        `began` is the time when the refresh started, in nanoseconds since 1970. A file that was
        just written can change again without a new modification time. The row of such a file gets
        no fingerprint, so the next refresh reads the file again.
        """
        found = self.fingerprint
        settled = found is not None and found.mtime_ns < began - FRESH_NS
        return StoredRow(str(found) if settled else "", self.row)


def load_rows(db: sqlite3.Connection, source: Source) -> dict[str, StoredRow]:
    """Return the stored rows of a source, by key.

    The key of a conversation is its path, and the key of a session is its id. Raises
    UnreadableError if a row cannot be decoded.
    """
    query = "SELECT key, fingerprint, row FROM rows WHERE kind = ? AND source = ?"
    try:
        found = db.execute(query, _where(source)).fetchall()
        rows = iter(decode_rows([row for _, _, row in found if row]))
        return {
            _to_text(key): StoredRow(_to_text(fingerprint), next(rows) if row else None)
            for key, fingerprint, row in found
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a row cannot be read: {error}") from None


def load_fingerprints(db: sqlite3.Connection, source: Source) -> dict[str, str]:
    """Return the stored fingerprint of each row of a source, by the row's key."""
    return _texts(db, "SELECT key, fingerprint FROM rows WHERE kind = ? AND source = ?", source)


def store_rows(
    db: sqlite3.Connection, source: Source, new: Mapping[str, StoredRow], gone: Iterable[str] = ()
) -> None:
    """Write new and changed rows of a source, and delete the rows whose keys are in `gone`."""
    where = _where(source)
    db.executemany(
        "DELETE FROM rows WHERE kind = ? AND source = ? AND key = ?",
        [(*where, _to_column(key)) for key in gone],
    )
    db.executemany(
        "INSERT OR REPLACE INTO rows VALUES (?,?,?,?,?)",
        [
            (
                *where,
                _to_column(key),
                _to_column(stored.fingerprint),
                encode_row(stored.row) if stored.row else b"",
            )
            for key, stored in new.items()
        ],
    )


def load_folders(db: sqlite3.Connection, source: Source) -> dict[str, str]:
    """Return the stored fingerprint of each folder of a source, by the folder's path."""
    return _texts(
        db, "SELECT folder, fingerprint FROM folders WHERE kind = ? AND source = ?", source
    )


def store_folders(
    db: sqlite3.Connection, source: Source, new: Mapping[str, str], gone: Iterable[str] = ()
) -> None:
    """Write fingerprints of folders of a source, and delete those of the folders in `gone`."""
    where = _where(source)
    db.executemany(
        "DELETE FROM folders WHERE kind = ? AND source = ? AND folder = ?",
        [(*where, _to_column(folder)) for folder in gone],
    )
    db.executemany(
        "INSERT OR REPLACE INTO folders VALUES (?,?,?,?)",
        [
            (*where, _to_column(folder), _to_column(fingerprint))
            for folder, fingerprint in new.items()
        ],
    )


def source_names(db: sqlite3.Connection, kind: str) -> list[str]:
    """Return the names of all sources of this kind that have rows in the catalog."""
    found = db.execute("SELECT DISTINCT source FROM rows WHERE kind = ?", (kind,)).fetchall()
    return [_to_text(name) for (name,) in found]


def forget_source(db: sqlite3.Connection, source: Source) -> None:
    """Delete all rows and folder fingerprints of a source from the catalog."""
    where = _where(source)
    db.execute("DELETE FROM rows WHERE kind = ? AND source = ?", where)
    db.execute("DELETE FROM folders WHERE kind = ? AND source = ?", where)


def _where(source: Source) -> tuple[str, str | bytes]:
    return source.kind, _to_column(source.name)


def _to_column(text: str) -> str | bytes:
    """Return a text in the type that SQLite can store.

    Text that is not ASCII becomes bytes, because a file name may not be valid UTF-8.
    """
    return text if text.isascii() else text.encode("utf-8", _ANY)


def _to_text(value: str | bytes) -> str:
    """Return the text that `_to_column` converted."""
    return value if isinstance(value, str) else value.decode("utf-8", _ANY)


def _texts(db: sqlite3.Connection, query: str, source: Source) -> dict[str, str]:
    try:
        return {
            _to_text(name): _to_text(fingerprint)
            for name, fingerprint in db.execute(query, _where(source)).fetchall()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a fingerprint cannot be read: {error}") from None
