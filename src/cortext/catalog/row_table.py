"""The catalog table that stores one row for each conversation or session.

Rows come from a *source*: a workspace, an AI tool, a folder of logs or a folder of documents. The
table stores each row with the fingerprint of its files (inode, size and modification time), so that
a refresh reads only the files that changed. A second table has the fingerprints of folders.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from cortext.catalog.rebuildable_database import UnreadableError
from cortext.catalog.row import ConversationRow, decode_rows, encode_row
from cortext.stores.file_fingerprint import Fingerprint

SCHEMA = """
CREATE TABLE rows (kind TEXT, source BLOB, key BLOB, fingerprint BLOB, row BLOB, position BLOB,
    folder BLOB, last_active INTEGER, PRIMARY KEY (kind, source, key)) WITHOUT ROWID;
CREATE INDEX rows_in ON rows (folder, last_active);
CREATE TABLE folders (kind TEXT, source BLOB, folder BLOB, fingerprint BLOB,
    PRIMARY KEY (kind, source, folder)) WITHOUT ROWID
"""
FRESH_NS = 20_000_000
"""If a file changes twice within this many nanoseconds, both changes may have the same time.

A file that changed so recently may therefore change again without a new modification time.
"""
_LATEST_IN = "SELECT row FROM rows WHERE folder = ? ORDER BY last_active DESC LIMIT ?"
_LATEST_BELOW = """SELECT row FROM rows WHERE folder >= ? AND folder < ?
    ORDER BY last_active DESC LIMIT ?"""
# Python represents bytes of a file name that are not UTF-8 as lone surrogates.
_PATH_ERRORS = "surrogatepass"


class Source(msgspec.Struct, frozen=True):
    """The origin of some catalog rows: a workspace, an AI tool, or a folder of logs or documents.

    `kind` is workspace, tool, log or document. `name` is the path of the folder, or the tool's
    name.
    """

    kind: str
    name: str


class ReadPosition(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The position in a message file at which a refresh stopped reading.

    The next refresh continues at this position.

    - `inode`: the inode of the file
    - `start`: the byte where the messages begin
    - `size`: the position itself: the number of bytes up to the end of the last line that was read
    - `lines` and `messages`: the numbers of lines and messages before the position
    - `last`: the time of the last message before the position
    - `latest`: the latest time of any message before the position
    - `end_checksum`: a checksum of the last bytes before the position
    - `checksum`: a checksum of all bytes from `start` to the position
    """

    inode: int = 0
    start: int = 0
    size: int = 0
    lines: int = 0
    messages: int = 0
    last: int = 0
    latest: int = 0
    end_checksum: int = 0
    checksum: int = 0


class StoredRow(Struct, gc=False):
    """A row as the table stores it.

    `row` is None if the files contain no conversation to list. `fingerprint` is the fingerprint of
    the files; "" means that the next refresh must read them again. `position` is where the next
    refresh continues to read. `load_rows` leaves it None, because only changed rows need it (see
    `load_position`).
    """

    fingerprint: str
    row: ConversationRow | None
    position: ReadPosition | None = None

    def is_same(self, other: StoredRow | None) -> bool:
        """Return whether `other` has the same row and the same fingerprint."""
        return bool(other) and (self.fingerprint, self.row) == (other.fingerprint, other.row)


class ReadRow(msgspec.Struct, frozen=True):
    """A catalog row that was just read from a file.

    `fingerprint` is the fingerprint of the file, or None if the file could not be opened.
    `position` is where the next refresh continues to read; None means at the start.
    """

    row: ConversationRow
    fingerprint: Fingerprint | None
    position: ReadPosition | None = None

    def to_store(self, began: int) -> StoredRow:
        """Return the row in the form in which the table stores it.

        `began` is the time when the refresh started, in nanoseconds since 1970. A file that changed
        just before can change again without a new modification time. Its row is stored without a
        fingerprint, so that the next refresh reads the file again.
        """
        found = self.fingerprint
        is_settled = found is not None and found.mtime_ns < began - FRESH_NS
        return StoredRow(str(found) if is_settled else "", self.row, self.position)


def load_rows(db: sqlite3.Connection, source: Source) -> dict[str, StoredRow]:
    """Return the stored rows of a source, by key.

    The key of a conversation is its path, and the key of a session is its id. Raises
    UnreadableError if a row cannot be decoded.
    """
    query = "SELECT key, fingerprint, row FROM rows WHERE kind = ? AND source = ?"
    try:
        found = db.execute(query, _source_columns(source)).fetchall()
        rows = iter(decode_rows([row for _, _, row in found if row]))
        return {
            _to_text(key): StoredRow(_to_text(fingerprint), next(rows) if row else None)
            for key, fingerprint, row in found
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a row cannot be read: {error}") from None


def load_position(db: sqlite3.Connection, source: Source, key: str) -> ReadPosition | None:
    """Return the read position of a stored row; None if the file must be read from its start."""
    query = "SELECT position FROM rows WHERE kind = ? AND source = ? AND key = ?"
    found = db.execute(query, (*_source_columns(source), _to_column(key))).fetchone()
    try:
        return msgspec.json.decode(found[0], type=ReadPosition) if found else None
    except (msgspec.DecodeError, TypeError):
        return None


def load_fingerprints(db: sqlite3.Connection, source: Source) -> dict[str, str]:
    """Return the stored fingerprint of each row of a source, by the row's key."""
    return _load_texts(
        db, "SELECT key, fingerprint FROM rows WHERE kind = ? AND source = ?", source
    )


def store_rows(
    db: sqlite3.Connection, source: Source, new: Mapping[str, StoredRow], gone: Iterable[str] = ()
) -> None:
    """Write the rows in `new` by their keys, and delete the rows whose keys are in `gone`."""
    where = _source_columns(source)
    db.executemany(
        "DELETE FROM rows WHERE kind = ? AND source = ? AND key = ?",
        [(*where, _to_column(key)) for key in gone],
    )
    db.executemany(
        "INSERT OR REPLACE INTO rows VALUES (?,?,?,?,?,?,?,?)",
        [
            (
                *where,
                _to_column(key),
                _to_column(stored.fingerprint),
                encode_row(stored.row) if stored.row else b"",
                msgspec.json.encode(stored.position) if stored.position else b"",
                _folder_column(stored.row.folder) if stored.row else None,
                stored.row.last_active if stored.row else 0,
            )
            for key, stored in new.items()
        ],
    )


def load_folders(db: sqlite3.Connection, source: Source) -> dict[str, str]:
    """Return the stored fingerprint of each folder of a source, by the folder's path."""
    return _load_texts(
        db, "SELECT folder, fingerprint FROM folders WHERE kind = ? AND source = ?", source
    )


def store_folders(
    db: sqlite3.Connection, source: Source, new: Mapping[str, str], gone: Iterable[str] = ()
) -> None:
    """Write and delete folder fingerprints of a source.

    `new` has the fingerprints to write, by the folder's path. `gone` has the paths of the folders
    whose fingerprints are deleted.
    """
    where = _source_columns(source)
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


def load_latest(
    db: sqlite3.Connection, folder: str, most: int, *, below: bool
) -> list[ConversationRow]:
    """Return the most recently active rows of a folder, from all sources, at most `most`.

    If `below` is true, up to `most` rows of its subfolders follow. Raises UnreadableError if a row
    cannot be decoded.
    """
    # One query for both would be slower: the index orders the rows of a single folder only.
    found = db.execute(_LATEST_IN, (_folder_column(folder), most)).fetchall()
    if below:
        name = folder.rstrip("/")
        ends = _folder_column(f"{name}/"), _folder_column(f"{name}0")  # "0" follows "/"
        found += db.execute(_LATEST_BELOW, (*ends, most)).fetchall()
    try:
        return decode_rows([row for (row,) in found])
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a row cannot be read: {error}") from None


def source_names(db: sqlite3.Connection, kind: str) -> list[str]:
    """Return the names of all sources of this kind that have rows in the catalog."""
    found = db.execute("SELECT DISTINCT source FROM rows WHERE kind = ?", (kind,)).fetchall()
    return [_to_text(name) for (name,) in found]


def forget_source(db: sqlite3.Connection, source: Source) -> None:
    """Delete all rows and folder fingerprints of a source from the catalog."""
    where = _source_columns(source)
    db.execute("DELETE FROM rows WHERE kind = ? AND source = ?", where)
    db.execute("DELETE FROM folders WHERE kind = ? AND source = ?", where)


def _source_columns(source: Source) -> tuple[str, str | bytes]:
    return source.kind, _to_column(source.name)


def _to_column(text: str) -> str | bytes:
    """Convert a text to a value that SQLite can store.

    Text that is not ASCII becomes bytes, because it may be a file name that is not valid UTF-8.
    """
    return text if text.isascii() else text.encode("utf-8", _PATH_ERRORS)


def _folder_column(folder: str) -> bytes:
    """Convert the path of a folder to bytes, so that SQLite can compare all paths in the column."""
    return folder.encode("utf-8", _PATH_ERRORS)


def _to_text(value: str | bytes) -> str:
    """Convert a value from `_to_column` back to text."""
    return value if isinstance(value, str) else value.decode("utf-8", _PATH_ERRORS)


def _load_texts(db: sqlite3.Connection, query: str, source: Source) -> dict[str, str]:
    try:
        return {
            _to_text(name): _to_text(fingerprint)
            for name, fingerprint in db.execute(query, _source_columns(source)).fetchall()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(f"a fingerprint cannot be read: {error}") from None
