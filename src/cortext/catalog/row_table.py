"""The rows of every list, in one table.

Rows come from a *source*: a workspace, an AI tool, a folder of logs or a folder of documents. Each
row is stored with the fingerprint of its files, so a refresh reads only files that changed. The
folders of a source have fingerprints too.
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
    """The origin of rows.

    `kind` is workspace, tool, log or document. `name` is a folder path or the name of a tool.
    """

    kind: str
    name: str


class StoredRow(Struct, gc=False):
    """A row and the fingerprint of its files. The row is None where there is nothing to list."""

    fingerprint: str
    row: ConversationRow | None


class ReadRow(NamedTuple):
    """A row that was read from a file, and the file's fingerprint.

    The fingerprint is None if the file could not be opened.
    """

    row: ConversationRow
    fingerprint: Fingerprint | None

    def to_store(self, began: int) -> StoredRow:
        """Return the row to store after a refresh that started at `began`, in nanoseconds.

        A file that was just written can change again within the same clock tick. Its row is stored
        without a fingerprint, so the next refresh reads the file again.
        """
        found = self.fingerprint
        settled = found is not None and found.mtime_ns < began - FRESH_NS
        return StoredRow(str(found) if settled else "", self.row)


def load_rows(db: sqlite3.Connection, source: Source) -> dict[str, StoredRow]:
    """Return the rows of a source by their keys. Raises UnreadableError for an invalid row."""
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
    """Return the fingerprint of each row of a source, by key."""
    return _texts(db, "SELECT key, fingerprint FROM rows WHERE kind = ? AND source = ?", source)


def store_rows(
    db: sqlite3.Connection, source: Source, new: Mapping[str, StoredRow], gone: Iterable[str] = ()
) -> None:
    """Write the new and changed rows of a source, and delete the rows whose keys are in `gone`."""
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
    """Return the fingerprint of each folder of a source, by path."""
    return _texts(
        db, "SELECT folder, fingerprint FROM folders WHERE kind = ? AND source = ?", source
    )


def store_folders(
    db: sqlite3.Connection, source: Source, new: Mapping[str, str], gone: Iterable[str] = ()
) -> None:
    """Write the fingerprints of folders, and delete those of the folders in `gone`."""
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
    """Return the names of all sources of a kind that have rows."""
    found = db.execute("SELECT DISTINCT source FROM rows WHERE kind = ?", (kind,)).fetchall()
    return [_to_text(name) for (name,) in found]


def forget_source(db: sqlite3.Connection, source: Source) -> None:
    """Delete all rows and folder fingerprints of a source."""
    where = _where(source)
    db.execute("DELETE FROM rows WHERE kind = ? AND source = ?", where)
    db.execute("DELETE FROM folders WHERE kind = ? AND source = ?", where)


def _where(source: Source) -> tuple[str, str | bytes]:
    return source.kind, _to_column(source.name)


def _to_column(text: str) -> str | bytes:
    """Return a value that SQLite stores: text, or bytes for names that are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", _ANY)


def _to_text(value: str | bytes) -> str:
    """Return the text that `_to_column` stored."""
    return value if isinstance(value, str) else value.decode("utf-8", _ANY)


def _texts(db: sqlite3.Connection, query: str, source: Source) -> dict[str, str]:
    try:
        return {
            _to_text(name): _to_text(fingerprint)
            for name, fingerprint in db.execute(query, _where(source)).fetchall()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a fingerprint cannot be read: {error}") from None
