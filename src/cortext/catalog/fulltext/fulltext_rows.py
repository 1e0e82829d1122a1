"""The tables of the full-text index, and functions that change them within one transaction.

A *spot* is the location of one indexed text. A *run* is a sequence of consecutive spots of one
conversation. A *fact* is a named number about the whole index.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from cortext.formats.text_search.text_folding import split_identifiers

# `hashsize` is the number of bytes of words that SQLite buffers before it writes them.
# The table `words` is for exact words and phrases. It has words as they are written, with their
# positions. The table `stems` is for the ranking. It has the stems of words and of the parts of
# identifiers, but not of tool output, which would outweigh what people and agents say.
SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5(text, content='', columnsize=0, detail=full,
    tokenize="unicode61 remove_diacritics 2 categories 'L* M* N* Co'");
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
CREATE VIRTUAL TABLE stems USING fts5(text, content='', columnsize=0, detail=none,
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'");
INSERT INTO stems (stems, rank) VALUES ('hashsize', 33554432);
CREATE TABLE sources (id INTEGER PRIMARY KEY, root BLOB, path BLOB, state TEXT,
    size INTEGER DEFAULT 0, UNIQUE (root, path));
CREATE TABLE runs (first INTEGER PRIMARY KEY, source INTEGER, number INTEGER, count INTEGER,
    at INTEGER, latest INTEGER, spots BLOB);
CREATE TABLE texts (first INTEGER PRIMARY KEY, packed BLOB);
CREATE INDEX runs_of ON runs (source, number, count);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, latest INTEGER, earliest INTEGER);
CREATE INDEX blocks_by_time ON blocks (latest, number, earliest);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID
"""
_WIDEN_BLOCK = """
INSERT INTO blocks VALUES (?, ?, ?) ON CONFLICT (number) DO UPDATE
SET latest = max(latest, excluded.latest), earliest = min(earliest, excluded.earliest)
"""
_INSERT_WORDS = "INSERT INTO words (rowid, text) SELECT ?1 + key, value FROM json_each(?2)"
_INSERT_STEMS = "INSERT INTO stems (rowid, text) SELECT ?1 + key, value FROM json_each(?2)"
_OUTPUT = "tool"
"""The role of tool output."""
ROLES = ("title", "document", "system", "user", "assistant", "tool", "agents")
_ROLE_NUMBERS = {role: number for number, role in enumerate(ROLES)}
TITLE, MARKDOWN, SIDE = 0, -1, -2
"""Special message numbers, for texts that are not messages of the conversation.

`TITLE` is for the title with the summary, `MARKDOWN` is for the markdown file, and `SIDE` is for
all messages of sub-agents.
"""
_SPOT = struct.Struct("<qIIIB")
"""The bytes of a spot: its time, its file position relative to its run, the size of its line in
bytes, the length of its text in characters, and its role."""
LONGEST_RUN = 256
"""The maximum number of spots in a run. It is small, because reading a spot reads its whole run."""
BLOCK = 1024
"""The number of consecutive spots that form a block.

The index stores the earliest and latest time of each block.
"""
_LARGEST_OFFSET = 2**32 - 1
GONE = "gone"
"""The name of a fact that is 1 if the index has words of a deleted or changed conversation."""
SIZE, REPLACED = "size", "replaced"
"""The names of two facts: the number of characters that were added, and that were replaced."""
_BATCH_CHARACTERS = 8 << 20
"""The number of characters of texts after which a new INSERT statement begins."""
AS_IS = "surrogateescape"
Identity = tuple[str, str]


class IndexRebuiltError(Exception):
    """The index was rebuilt and lost its texts, so conversations must be read from the start."""


Work = tuple[Identity, str, Sequence["TextEntry"], bool]
"""The identity of a conversation, its new state, its new texts, and whether its old texts stay."""


class TextEntry(msgspec.Struct, frozen=True):
    """A text to index, and its location. The text must be valid Unicode (no lone surrogates).

    `number` is the number of the message in its conversation. `at` and `size` are the position and
    length of its line in the message file, in bytes; both are 0 if the text is not a line. `time`
    is in microseconds since 1970. `shown` is the text for snippets; "" if it is the same as `text`.
    """

    number: int
    role: str
    time: int
    text: str
    at: int = 0
    size: int = 0
    shown: str = ""

    @property
    def is_stored(self) -> bool:
        """Whether the index stores the text itself, and not only its words.

        A text is not stored if it is a line of a message file, a title or the content of a markdown
        file.
        """
        return not self.size and self.number not in (TITLE, MARKDOWN)


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


def unpacked(spots: bytes, offset: int) -> tuple[int, int, int, int, str]:
    """Unpack one spot (the location of a text) from the bytes of its run.

    `spots` has the packed spots of the run, and `offset` is the index of the spot in it. Return the
    time, the distance in bytes from the start of the run in the file, the size of the line in
    bytes, the length of the text in characters, and the role.
    """
    fields: tuple[int, int, int, int, int] = _SPOT.unpack_from(spots, offset * _SPOT.size)
    return *fields[:4], ROLES[fields[4]]


def fact(db: sqlite3.Connection, name: str) -> int:
    """Return the value of a fact (a named number about the index); 0 if it is not stored."""
    row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def add(db: sqlite3.Connection, name: str, number: int) -> None:
    """Increase the value of a fact (a named number about the index) by `number`."""
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, fact(db, name) + number))


def configure(db: sqlite3.Connection, values: dict[str, int]) -> None:
    """Set options of both FTS5 tables. `values` has the value of each option, by name."""
    db.executemany("INSERT INTO words (words, rank) VALUES (?, ?)", values.items())
    db.executemany("INSERT INTO stems (stems, rank) VALUES (?, ?)", values.items())


def key_of(identity: Identity) -> tuple[bytes, bytes]:
    """Convert the identity of a conversation to the two byte strings in the table `sources`."""
    root, path = identity
    return root.encode("utf-8", AS_IS), path.encode("utf-8", AS_IS)


def put_source(db: sqlite3.Connection, identity: Identity, state: str, *, keep: bool) -> int:
    """Add a conversation or update its stored state, and return its id in the table `sources`.

    With `keep`, the texts of the conversation stay, and IndexRebuiltError is raised if the index
    does not have the conversation. Without `keep`, its texts are removed from search results.
    """
    key = key_of(identity)
    row = db.execute("SELECT id FROM sources WHERE root = ? AND path = ?", key).fetchone()
    if row is None:
        if keep:
            raise IndexRebuiltError
        new = db.execute("INSERT INTO sources (root, path, state) VALUES (?, ?, ?)", (*key, state))
        return int(new.lastrowid or 0)
    source = int(row[0])
    db.execute("UPDATE sources SET state = ? WHERE id = ?", (state, source))
    if not keep:
        db.execute("UPDATE sources SET size = 0 WHERE id = ?", (source,))
        _drop_runs(db, source)
    return source


def drop_source(db: sqlite3.Connection, identity: Identity) -> None:
    """Remove a conversation from search results."""
    query = "SELECT id FROM sources WHERE root = ? AND path = ?"
    for (source,) in db.execute(query, key_of(identity)).fetchall():
        _drop_runs(db, source)
        db.execute("DELETE FROM sources WHERE id = ?", (source,))


def _drop_runs(db: sqlite3.Connection, source: int) -> None:
    db.execute(
        "DELETE FROM texts WHERE first IN (SELECT first FROM runs WHERE source = ?)", (source,)
    )
    if db.execute("DELETE FROM runs WHERE source = ?", (source,)).rowcount:
        db.execute("INSERT OR REPLACE INTO facts VALUES (?, 1)", (GONE,))


def put_runs(db: sqlite3.Connection, source: int, new: Sequence[TextEntry], first: int) -> int:
    """Store the locations of the texts in `new`, and return the number that the next text will get.

    The texts get consecutive numbers from `first`. `source` is the id of their conversation in the
    table `sources`.
    """
    for entry in new:
        # A new title, markdown file or text of sub-agents replaces the old one.
        if entry.number <= TITLE and (length := _drop_text(db, source, entry.number)):
            add(db, REPLACED, length)
            db.execute("UPDATE sources SET size = size - ? WHERE id = ?", (length, source))
    size = sum(len(entry.text) for entry in new if entry.role != _OUTPUT)
    db.execute("UPDATE sources SET size = size + ? WHERE id = ?", (size, source))
    for run in _split_into_runs([entry for entry in new if entry.text]):
        begin, times = run[0].at, [entry.time for entry in run]
        earliest, latest = min(times), max(times)
        spots = b"".join(
            [
                _SPOT.pack(e.time, e.at - begin, e.size, len(e.text), _ROLE_NUMBERS[e.role])
                for e in run
            ]
        )
        row = (first, source, run[0].number, len(run), begin, latest, spots)
        db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        if any(entry.is_stored for entry in run):
            db.execute("INSERT INTO texts VALUES (?, ?)", (first, _pack_texts(run)))
        blocks = range(first // BLOCK, (first + len(run) - 1) // BLOCK + 1)
        db.executemany(_WIDEN_BLOCK, [(block, latest, earliest) for block in blocks])
        first += len(run)
    return first


def _drop_text(db: sqlite3.Connection, source: int, number: int) -> int:
    """Remove a text that is not a message, such as a title, from search results. Return its length.

    `source` is the id of the conversation in the table `sources`, and `number` is the special
    message number, such as `TITLE`. Return 0 if there is no such text.
    """
    key = (source, number)
    query = "SELECT first, spots FROM runs WHERE source = ? AND number = ?"
    row = db.execute(query, key).fetchone()
    if row is None:
        return 0
    db.execute("DELETE FROM texts WHERE first = ?", row[:1])
    db.execute("DELETE FROM runs WHERE first = ?", row[:1])
    return unpacked(row[1], 0)[3]


def _pack_texts(run: Sequence[TextEntry]) -> bytes:
    return zlib.compress(msgspec.json.encode([entry.shown or entry.text for entry in run]), 1)


def stored_texts(db: sqlite3.Connection, id: int) -> tuple[int, list[str]]:
    """Return the stored texts of the run with the text `id`, and the number of the first text.

    Return no texts if the index does not store them.
    """
    query = "SELECT first, packed FROM texts WHERE first <= ? ORDER BY first DESC LIMIT 1"
    row = db.execute(query, (id,)).fetchone()
    if row is None:
        return id, []
    try:
        return row[0], msgspec.json.decode(zlib.decompress(row[1]), type=list[str])
    except (zlib.error, msgspec.DecodeError):
        return id, []  # the file is damaged; a search then shows no snippet


def put_texts(db: sqlite3.Connection, first: int, new: Sequence[TextEntry]) -> None:
    """Add the words of texts to the index. The texts get consecutive numbers from `first`.

    One INSERT statement adds many texts. SQLite writes the words of each statement separately and
    merges them later, so fewer statements mean less merging. Also, other threads can run while
    SQLite executes a statement.
    """
    start = size = 0
    add(db, SIZE, sum(len(entry.text) for entry in new))
    for end, entry in enumerate(new, 1):
        size += len(entry.text)
        if end == len(new) or size > _BATCH_CHARACTERS:
            batch = new[start:end]
            # SQLite would end a text at a NUL.
            texts = [entry.text.replace("\0", " ") for entry in batch]
            db.execute(_INSERT_WORDS, (first + start, _as_json(texts)))
            parts = [
                "" if entry.role == _OUTPUT else split_identifiers(text)
                for entry, text in zip(batch, texts, strict=True)
            ]
            db.execute(_INSERT_STEMS, (first + start, _as_json(parts)))
            start, size = end, 0


def _as_json(texts: list[str]) -> str:
    return msgspec.json.encode(texts).decode()


def _split_into_runs(new: Sequence[TextEntry]) -> Iterator[Sequence[TextEntry]]:
    """Yield the texts in sequences of consecutive messages, each short enough for one run."""
    start = 0
    for end in range(1, len(new) + 1):
        if (
            end == len(new)
            or end - start == LONGEST_RUN
            or new[end].number != new[end - 1].number + 1
            or new[end - 1].number <= TITLE
            or not 0 <= new[end].at - new[start].at <= _LARGEST_OFFSET
        ):
            yield new[start:end]
            start = end
