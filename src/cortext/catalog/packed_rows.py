"""The rows of a table, kept many at a time beside it: to take thousands of rows from SQLite one by
one is what a list would spend most of its time on.

A *pack* is made of the rows whose numbers have one beginning: their texts in one piece, their
whole numbers in another. Triggers empty the pack of a row that changes; whoever wrote fills it
again, and until then it is made for each reader. This module is imported by every list, so it
imports next to nothing.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from cortext.catalog.database import Unreadable

_BITS = 6
"""Of the number of a row that say which it is in its pack: with more, a change of one row writes
more, and with fewer, reading takes longer. Triggers have it too: whoever changes it gives every
database that has packs another version."""
_LARGEST = 1 << 26
"""Bytes of a pack beyond which none is kept, but made for each reader: SQLite has a limit."""
_END = b"\0"
"""Between texts. No file's name has it, and nothing that is shown."""
_SCHEMA = "CREATE TABLE {table}_packs (number INTEGER PRIMARY KEY, texts BLOB, numbers BLOB)"
_TRIGGER = """;
CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN
    DELETE FROM {table}_packs WHERE number = {row}.rowid >> {bits};
    INSERT INTO {table}_packs (number) VALUES ({row}.rowid >> {bits});
END"""
_EVENTS = {"INSERT": "new", "UPDATE": "new", "DELETE": "old"}


class Columns(NamedTuple):
    """All rows, by columns, in the order of their numbers."""

    texts: list[list[str]]
    numbers: list[list[int]]


class Packs:
    """Some columns of a table: `texts` and `numbers` are SQL, and so is `where`, which rows. The
    table has an INTEGER PRIMARY KEY, for else a VACUUM may number its rows anew. Rows must not be
    replaced, for that calls no trigger: those that are there are updated."""

    def __init__(
        self, table: str, texts: Sequence[str], numbers: Sequence[str], where: str = "TRUE"
    ) -> None:
        triggers = [
            _TRIGGER.format(table=table, event=event, row=row, bits=_BITS)
            for event, row in _EVENTS.items()
        ]
        self.schema: str = "".join((_SCHEMA.format(table=table), *triggers))
        self._table = f"{table}_packs"
        self._widths = len(texts), len(numbers)
        columns = ", ".join([*(f"CAST({text} AS BLOB)" for text in texts), *numbers])
        which = f"rowid BETWEEN ? AND ? AND {where} ORDER BY rowid"
        self._rows = f"SELECT {columns} FROM {table} WHERE {which}"  # noqa: S608  SQL of our own

    def load(self, db: sqlite3.Connection) -> Columns:
        """All that there is. UnicodeDecodeError if a text is not UTF-8."""
        texts, numbers = self._widths
        found = Columns([[] for _ in range(texts)], [[] for _ in range(numbers)])
        query = f"SELECT number, texts, numbers FROM {self._table} ORDER BY number"  # noqa: S608
        for number, packed, counted in db.execute(query).fetchall():
            if packed is None:
                packed, counted = self._pack(db, number)
            _add(found, packed, counted)
        return found

    def fill(self, db: sqlite3.Connection) -> None:
        """Make the packs anew whose rows changed, in a transaction that was begun to write: one
        that has read first would not wait for another's."""
        table = self._table
        empty = db.execute(f"SELECT number FROM {table} WHERE texts IS NULL").fetchall()  # noqa: S608
        made = [(*self._pack(db, number), number) for (number,) in empty]
        full = [pack for pack in made if len(pack[0]) <= _LARGEST]
        db.executemany(f"UPDATE {table} SET texts = ?, numbers = ? WHERE number = ?", full)  # noqa: S608
        db.execute(f"DELETE FROM {table} WHERE numbers = x''")  # noqa: S608

    def _pack(self, db: sqlite3.Connection, number: int) -> tuple[bytes, bytes]:
        first = number << _BITS
        width = self._widths[0]
        try:
            rows = db.execute(self._rows, (first, first + (1 << _BITS) - 1)).fetchall()
            columns = [*zip(*rows, strict=True)]
            texts = [*chain(*columns[:width])]
            packed = _END.join(texts)
            counted = array("q", chain(*columns[width:])).tobytes()
        except (TypeError, OverflowError) as error:
            raise Unreadable(f"a row cannot be read: {error}") from None
        if packed.count(_END) >= len(texts) > 0:
            packed = _END.join([text.replace(_END, b" ") for text in texts])
        return packed, counted


def _add(found: Columns, packed: bytes, counted: bytes) -> None:
    if counted == b"":
        return
    try:
        texts, numbers = packed.decode().split("\0"), array("q", counted).tolist()
    except UnicodeDecodeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise Unreadable(f"a pack cannot be read: {error}") from None
    count = len(numbers) // len(found.numbers)
    if (len(texts), len(numbers)) != (count * len(found.texts), count * len(found.numbers)):
        raise Unreadable("a pack is not as long as it should be")
    for columns, cells in ((found.texts, texts), (found.numbers, numbers)):
        for at, column in enumerate(columns):
            column += cells[at * count : (at + 1) * count]
