"""The tables of the full-text index, and functions that change them within one transaction.

A *spot* is the location of one indexed text. A *run* is a sequence of consecutive spots of one
conversation. A *fact* is a named number about the whole index.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# `hashsize` is how many bytes of words SQLite buffers before it writes them.
SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(text, content='', columnsize=0, detail=full,
    tokenize="unicode61 remove_diacritics 2 categories 'L* M* N* Co'");
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
CREATE TABLE sources (id INTEGER PRIMARY KEY, root BLOB, path BLOB, state TEXT,
    UNIQUE (root, path));
CREATE TABLE runs (first INTEGER PRIMARY KEY, source INTEGER, number INTEGER, count INTEGER,
    at INTEGER, latest INTEGER, spots BLOB);
CREATE INDEX runs_of ON runs (source, number, count);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, latest INTEGER, earliest INTEGER);
CREATE INDEX blocks_by_time ON blocks (latest, number, earliest);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID
"""
_SPREAD = """
INSERT INTO blocks VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE
SET latest = max(latest, excluded.latest), earliest = min(earliest, excluded.earliest)
"""
_INSERT = "INSERT INTO words (rowid, text) SELECT ?1 + key, value FROM json_each(?2)"
ROLES = ("title", "document", "system", "user", "assistant", "tool", "agents")
_ROLE = {role: number for number, role in enumerate(ROLES)}
TITLE, MARKDOWN, SIDE = 0, -1, -2
"""The message numbers of texts that are not messages.

They stand for the title with the summary, for the markdown, and for all messages of sub-agents.
"""
_SPOT = struct.Struct("<qIIB")
"""A spot as bytes: its time, its file position relative to its run, its size and its role."""
LONGEST_RUN = 256
"""The maximum number of spots in a run. Reading one spot reads its whole run."""
BLOCK = 1024
"""How many spot numbers form a block.

The index stores the earliest and latest time of each block.
"""
_FAR = 2**32 - 1
GONE = "gone"
"""The fact that is set if the index has words of a conversation that was deleted or changed."""
SIZE, REPLACED = "size", "replaced"
"""Facts: the number of characters of all texts added, and of all texts replaced since."""
_LARGE = 8 << 20
"""The number of characters after which a new INSERT statement begins."""
AS_IS = "surrogateescape"
Identity = tuple[str, str]


class AnewError(Exception):
    """The index was rebuilt and lost its texts, so conversations must be read from the start."""


Work = tuple[Identity, str, Sequence["TextEntry"], bool]
"""The identity of a conversation, its new state, its new texts, and whether its old texts stay."""


class TextEntry(NamedTuple):
    """A text to index, without lone surrogates, and its location.

    `number` is the number of the message. `at` and `size` are the position and length of its line
    in the file, in bytes; both are 0 if the text is not a line. `time` is in microseconds since
    1970.
    """

    number: int
    role: str
    time: int
    text: str
    at: int = 0
    size: int = 0


class TextMatch(NamedTuple):
    """The location of an indexed text that matches a query.

    `id` is the number of the text in the index, and `number` is the number of the message in its
    conversation. `time` is in microseconds since 1970. `at` and `size` are as in `TextEntry`.
    """

    id: int
    identity: Identity
    number: int
    role: str
    time: int
    at: int
    size: int


def unpacked(spots: bytes, offset: int) -> tuple[int, int, int, str]:
    """Return time, relative file position, size and role of one spot (the location of a text).

    `spots` has the packed spots of a run, and `offset` is the index of the spot in the run.
    """
    found: tuple[int, int, int, int] = _SPOT.unpack_from(spots, offset * _SPOT.size)
    return *found[:3], ROLES[found[3]]


def fact(db: sqlite3.Connection, name: str) -> int:
    """Return the number about the index that is stored under a name; 0 if there is none."""
    found = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def add(db: sqlite3.Connection, name: str, number: int) -> None:
    """Increase the number about the index that is stored under a name."""
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, fact(db, name) + number))


def configure(db: sqlite3.Connection, values: dict[str, int]) -> None:
    """Set options of the FTS5 table."""
    db.executemany("INSERT INTO words (words, rank) VALUES (?, ?)", values.items())


def key_of(identity: Identity) -> tuple[bytes, bytes]:
    """Return an identity as two byte strings, as the table `sources` stores it."""
    root, path = identity
    return root.encode("utf-8", AS_IS), path.encode("utf-8", AS_IS)


def put_source(db: sqlite3.Connection, identity: Identity, state: str, *, keep: bool) -> int:
    """Add a conversation or update its stored state, and return its id in the table `sources`.

    Without `keep`, its earlier texts are removed from search results. Raises AnewError if `keep` is
    set and the conversation is not in the index.
    """
    key = key_of(identity)
    found = db.execute("SELECT id FROM sources WHERE root = ? AND path = ?", key).fetchone()
    if found is None:
        if keep:
            raise AnewError
        new = db.execute("INSERT INTO sources (root, path, state) VALUES (?, ?, ?)", (*key, state))
        return int(new.lastrowid or 0)
    source = int(found[0])
    db.execute("UPDATE sources SET state = ? WHERE id = ?", (state, source))
    if not keep:
        _drop_runs(db, source)
    return source


def drop_source(db: sqlite3.Connection, identity: Identity) -> None:
    """Remove a conversation from search results."""
    query = "SELECT id FROM sources WHERE root = ? AND path = ?"
    for (source,) in db.execute(query, key_of(identity)).fetchall():
        _drop_runs(db, source)
        db.execute("DELETE FROM sources WHERE id = ?", (source,))


def _drop_runs(db: sqlite3.Connection, source: int) -> None:
    if db.execute("DELETE FROM runs WHERE source = ?", (source,)).rowcount:
        db.execute("INSERT OR REPLACE INTO facts VALUES (?, 1)", (GONE,))


def put_runs(db: sqlite3.Connection, source: int, new: Sequence[TextEntry], first: int) -> int:
    """Add the locations of the texts in `new`, numbered from `first`. Return the next free number.

    `source` is the id of their conversation.
    """
    for entry in new:
        # A title or a markdown replaces its predecessor, which was about as long.
        delete = "DELETE FROM runs WHERE source = ? AND number = ?"
        if entry.number <= TITLE and db.execute(delete, (source, entry.number)).rowcount:
            add(db, REPLACED, len(entry.text))
    for run in _runs([entry for entry in new if entry.text]):
        begin, times = run[0].at, [entry.time for entry in run]
        earliest, latest = min(times), max(times)
        spots = b"".join([_SPOT.pack(e.time, e.at - begin, e.size, _ROLE[e.role]) for e in run])
        row = (first, source, run[0].number, len(run), begin, latest, spots)
        db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        blocks = range(first // BLOCK, (first + len(run) - 1) // BLOCK + 1)
        db.executemany(_SPREAD, [(block, latest, earliest) for block in blocks])
        first += len(run)
    return first


def put_texts(db: sqlite3.Connection, first: int, texts: Sequence[str]) -> None:
    """Add the words of texts to the index. The texts are numbered from `first`.

    Few INSERT statements are used. SQLite writes the words of each statement separately and merges
    them later, so fewer statements mean less merging. Other threads can run during a statement.
    """
    from msgspec.json import encode

    start = size = 0
    add(db, SIZE, sum(map(len, texts)))
    for end, text in enumerate(texts, 1):
        size += len(text)
        if end == len(texts) or size > _LARGE:
            # SQLite would end a text at a NUL.
            part = [text.replace("\0", " ") for text in texts[start:end]]
            db.execute(_INSERT, (first + start, encode(part).decode()))
            start, size = end, 0


def _runs(new: Sequence[TextEntry]) -> Iterator[Sequence[TextEntry]]:
    """Yield sequences of texts with consecutive numbers, each short enough for one run."""
    start = 0
    for end in range(1, len(new) + 1):
        if (
            end == len(new)
            or end - start == LONGEST_RUN
            or new[end].number != new[end - 1].number + 1
            or new[end - 1].number <= TITLE
            or not 0 <= new[end].at - new[start].at <= _FAR
        ):
            yield new[start:end]
            start = end
