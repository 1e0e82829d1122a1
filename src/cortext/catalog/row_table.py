"""The rows of every list, in one table.

A *source* is where rows come from: a workspace, an AI tool, a folder of logs or a folder of
documents. A row is stored with the fingerprint of its files, so that a refresh reads only files
that changed. The folders of a source have fingerprints too.
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
"""A file younger than this may be written again without getting another time."""
# The names of files may have bytes that are not UTF-8: Python has them as lone surrogates.
_ANY = "surrogatepass"


class Source(NamedTuple):
    """Where rows come from: `kind` is workspace, tool, log or document, `name` a folder or tool."""

    kind: str
    name: str


class StoredRow(Struct, gc=False):
    """A row and the fingerprint of its files. The row is None where there is nothing to list."""

    fingerprint: str
    row: ConversationRow | None


class ReadRow(NamedTuple):
    """A row that was read from a file, and the fingerprint of the file if it could be opened."""

    row: ConversationRow
    fingerprint: Fingerprint | None

    def to_store(self, began: int) -> StoredRow:
        """Return the row for a refresh that `began` at a time.

        A file that was just written may be written again within the same tick of the clock, so its
        fingerprint does not count yet.
        """
        found = self.fingerprint
        settled = found is not None and found.mtime_ns < began - FRESH_NS
        return StoredRow(str(found) if settled else "", self.row)


def load_rows(db: sqlite3.Connection, source: Source) -> dict[str, StoredRow]:
    """Return the rows of a source by their keys; UnreadableError if one is not as we write them."""
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
    """Return the fingerprints of a source by the keys of its rows."""
    return _texts(db, "SELECT key, fingerprint FROM rows WHERE kind = ? AND source = ?", source)


def store_rows(
    db: sqlite3.Connection, source: Source, new: Mapping[str, StoredRow], gone: Iterable[str] = ()
) -> None:
    """Write the rows that are new or changed, and delete the rows that are gone."""
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
    """Return the fingerprints of the folders of a source."""
    return _texts(
        db, "SELECT folder, fingerprint FROM folders WHERE kind = ? AND source = ?", source
    )


def store_folders(
    db: sqlite3.Connection, source: Source, new: Mapping[str, str], gone: Iterable[str] = ()
) -> None:
    """Write the fingerprints of folders, and forget the folders that are gone."""
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
    """Delete all rows of a source."""
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
