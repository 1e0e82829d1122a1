"""The SQLite tables of a document index: summaries of sessions, and fingerprints of their files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from cortext.catalog.rebuildable_database import UnreadableError, bounded, folded, micros, plain
from cortext.model import json_codec, message_dicts
from cortext.model.session_summary import SessionSummary
from cortext.stores.file_fingerprint import Fingerprint

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, updated_at INTEGER, created_at INTEGER, title TEXT, message_count INTEGER,
    total_tokens INTEGER, working_dir TEXT, owner TEXT, summary BLOB,
    inode INTEGER, size INTEGER, mtime_ns INTEGER
) WITHOUT ROWID;
CREATE INDEX by_update ON sessions (updated_at DESC, id);
CREATE INDEX by_title ON sessions (title, id);
CREATE TABLE tags (tag TEXT, id TEXT, PRIMARY KEY (tag, id)) WITHOUT ROWID;
CREATE INDEX tags_of ON tags (id);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""

_SORT_COLUMNS = {
    "updated_at": True,
    "created_at": True,
    "message_count": True,
    "total_tokens": True,
    "title": False,
    "id": False,
}
"""The columns that a list can be sorted by, and whether the greatest value comes first."""
_summaries = msgspec.json.Decoder(SessionSummary)


def clear(db: sqlite3.Connection) -> None:
    for name in ("sessions", "tags", "facts"):
        db.execute(f"DELETE FROM {name}")  # noqa: S608  fixed table names


def put(db: sqlite3.Connection, summary: SessionSummary, fingerprint: Fingerprint | None) -> None:
    """Write the summary of a session, and the fingerprint of its file (None if unknown)."""
    columns = fingerprint or (None, None, None)
    db.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            summary.id,
            micros(summary.updated_at),
            micros(summary.created_at),
            folded(summary.title),
            summary.message_count,
            bounded(summary.total_tokens),
            plain(summary.working_dir),
            plain(summary.owner),
            json_codec.encode(summary),
            *columns,
        ),
    )
    db.execute("DELETE FROM tags WHERE id = ?", (summary.id,))
    db.executemany(
        "INSERT OR IGNORE INTO tags VALUES (?, ?)",
        [(plain(tag), summary.id) for tag in summary.tags],
    )


def drop(db: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Delete the summaries of these sessions, and return the number of deleted summaries."""
    deleted = 0
    for id in ids:
        deleted += db.execute("DELETE FROM sessions WHERE id = ?", (id,)).rowcount
        db.execute("DELETE FROM tags WHERE id = ?", (id,))
    return deleted


def fingerprints(db: sqlite3.Connection) -> dict[str, Fingerprint | None]:
    """Return the stored fingerprint of each session's file, by session id; None if unknown."""
    rows = db.execute("SELECT id, inode, size, mtime_ns FROM sessions")
    return {row[0]: None if row[1] is None else Fingerprint(*row[1:]) for row in rows}


def read_rows(rows: Iterable[tuple[bytes]]) -> Iterator[SessionSummary]:
    """Yield the summaries in these rows. Raises UnreadableError if a row cannot be decoded."""
    for (blob,) in rows:
        try:
            yield _summaries.decode(blob)
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
            try:
                yield SessionSummary.from_dict(message_dicts.as_dict(json_codec.decode(blob)))
            except (ValueError, TypeError, AttributeError) as error:
                raise UnreadableError(f"a row cannot be read: {error}") from None


def get_fact(db: sqlite3.Connection, name: str) -> str | None:
    """Return a fact (a named value about the whole index); None if it is not stored."""
    row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def set_fact(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def order(sort_by: str, descending: bool | None) -> str:
    if sort_by not in _SORT_COLUMNS:
        raise ValueError(f"sort_by must be one of {', '.join(_SORT_COLUMNS)}, not {sort_by!r}")
    is_descending = _SORT_COLUMNS[sort_by] if descending is None else descending
    return f"ORDER BY {sort_by} {'DESC' if is_descending else 'ASC'}, id"


def conditions(
    tags: Sequence[str] | None, search: str | None, working_dir: str | None, owner: str | None
) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for tag in tags or ():
        parts.append("id IN (SELECT id FROM tags WHERE tag = ?)")
        values.append(plain(tag))
    if search:
        parts.append("instr(title, ?) > 0")
        values.append(folded(search))
    for column, value in (("working_dir", working_dir), ("owner", owner)):
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(plain(value))
    return ("WHERE " + " AND ".join(parts) if parts else ""), values
