"""The full-text index: which message of which conversation has which words.

It holds no text. A row of the index is a *spot*: a message, by its number in its conversation and,
where each message is a line of a file, by its place there. Spots are numbered as they come; those
that came one after the other are kept as one *run*.
SQLite cannot take a text out of such an index again: spots that are gone are left out of answers,
and when most are, the index is thrown away.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from cortext import paths
from cortext.catalog.database import Database, Fallback, is_bad_query, remove_database
from cortext.catalog.fulltext.fulltext_tables import (
    AS_IS,
    GONE,
    MARKDOWN,
    REPLACED,
    ROLES,
    SCHEMA,
    SIDE,
    SIZE,
    TITLE,
    AnewError,
    Identity,
    TextEntry,
    TextMatch,
    Work,
    configure,
    drop_source,
    fact,
    key_of,
    put_runs,
    put_source,
    put_texts,
)
from cortext.catalog.fulltext.newest_matches import Newest, Place

__all__ = [
    "MARKDOWN",
    "ROLES",
    "SIDE",
    "TITLE",
    "AnewError",
    "FulltextIndex",
    "Identity",
    "TextEntry",
    "TextMatch",
    "Work",
]  # fmt: skip

T = TypeVar("T")
_VERSION = 7
_MERGE = {"automerge": 4, "crisismerge": 16}
_NO_MERGE = {"automerge": 0, "crisismerge": 1999}
_STALE, _STALE_SIZE = 100_000, 64 << 20
"""Texts, and characters, that may be gone."""
_MAPPED = 1 << 30
"""Bytes."""


class FulltextIndex:
    """The index in one file, for any number of processes, of which one at a time adds to it.

    If the file cannot be written, it is only read; if there is no file then, the index is in
    memory.
    """

    def __init__(self, path: str) -> None:
        self._database = Database(
            path,
            schema=SCHEMA,
            version=_VERSION,
            name="the search index",
            fallback=Fallback.READ_ONLY,
            # A phrase query visits hundreds of pages.
            mapped_bytes=_MAPPED,
        )

    @classmethod
    def at_home(cls) -> FulltextIndex:
        """Return the index of this user."""
        return cls(paths.words())

    def __enter__(self) -> FulltextIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @property
    def path(self) -> str:
        """The path of the file; `MEMORY` if there is none."""
        return self._database.path

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be added, because the file cannot be written."""
        return self._database.is_read_only

    @property
    def lock(self) -> str:
        """The path of the lock that a process takes to add texts; "" for an index in memory."""
        return "" if self._database.is_in_memory else f"{self.path}.lock"

    def known(self) -> dict[Identity, str]:
        """What is in it, by what was remembered of each."""
        rows = self._run(lambda db: db.execute("SELECT root, path, state FROM sources").fetchall())
        # With many rows this is what a search takes its time for, and roots are few.
        roots = {root: root.decode("utf-8", AS_IS) for root in {row[0] for row in rows}}
        return {(roots[root], path.decode("utf-8", AS_IS)): state for root, path, state in rows}

    def known_any(self) -> bool:
        """Whether there is anything in it."""
        query = "SELECT 1 FROM sources LIMIT 1"
        return self._run(lambda db: db.execute(query).fetchone() is not None)

    def mark(self) -> tuple[int, int]:
        """What was last remembered of all that is in it, and on which day."""
        return self._run(lambda db: (fact(db, "mark"), fact(db, "day")))

    def set_mark(self, mark: int, day: int, count: int) -> None:
        """Remember that all is in it, which are so many conversations; whatever is added or dropped
        later forgets it."""
        rows = [("mark", mark), ("day", day)]

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            # Somebody may have thrown it away meanwhile.
            if db.execute("SELECT count(*) FROM sources").fetchone()[0] == count:
                db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

        self._write(write)

    def put(self, identity: Identity, state: str, new: Sequence[TextEntry], *, keep: bool) -> int:
        """Add texts of a conversation, after those that it has if they are to be kept, and remember
        its state; how many they were."""
        return self.put_all([(identity, state, new, keep)])

    def put_all(self, work: Iterable[Work], *, bulk: bool = False) -> int:
        """The same for several, at once: all are in it, or none. After additions in `bulk` it has
        to be settled. AnewError if there is nothing that could be kept."""

        def write(db: sqlite3.Connection) -> int:
            db.execute("BEGIN IMMEDIATE")
            if bulk and not fact(db, "bulk"):
                configure(db, _NO_MERGE)
                db.execute("INSERT OR REPLACE INTO facts VALUES ('bulk', 1)")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            first = next_id = fact(db, "next") or 1
            texts: list[str] = []
            for identity, state, new, keep in work:
                source = put_source(db, identity, state, keep=keep)
                next_id = put_runs(db, source, new, next_id)
                texts += [entry.text for entry in new if entry.text]
            put_texts(db, first, texts)
            db.execute("INSERT OR REPLACE INTO facts VALUES ('next', ?)", (next_id,))
            return next_id - first

        return self._write(write)

    def drop(self, identities: Iterable[Identity]) -> None:
        """Conversations that are gone are not found any more."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            for identity in identities:
                drop_source(db, identity)

        self._write(write)

    def forget(self, identities: Iterable[Identity]) -> None:
        """Have conversations read anew; until then they are found as they were."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            keys = map(key_of, identities)
            db.executemany("UPDATE sources SET state = '' WHERE root = ? AND path = ?", keys)

        self._write(write)

    @property
    def is_settled(self) -> bool:
        return not self._run(lambda db: fact(db, "bulk"))

    def settle(self) -> None:
        """After additions in bulk: leave nothing for a later, small one to put in order."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            configure(db, _MERGE)
            db.execute("DELETE FROM facts WHERE name = 'bulk'")

        self._write(write)
        self._database.compact()

    def find(
        self,
        expression: str,
        *,
        most: int = 200,
        before: Place | None = None,
        skips: Callable[[Identity], bool] = lambda _: False,
        within: Collection[Identity] = (),
    ) -> Iterator[TextMatch]:
        """All spots that match, the newest first, of one time those that came last; only those
        `before` a place. They are looked for as they are taken, `most` is how many will be, likely.
        `skips` tells of which conversations none are needed any more: few of these come. `within`
        are the only ones that are needed, if these are few."""
        try:
            yield from self._run(lambda db: Newest(db, expression, most, before, skips, within))
        except sqlite3.DatabaseError as error:
            # Some results may have been taken, so the search ends here instead of starting again.
            if not is_bad_query(error):
                self._database.recover(error)

    @property
    def is_stale(self) -> bool:
        """Whether most of what is in it is gone, and it can be thrown away."""

        def count(db: sqlite3.Connection) -> bool:
            next_id = fact(db, "next")
            replaced = fact(db, REPLACED)
            if replaced > max(_STALE_SIZE, fact(db, SIZE) - replaced):
                return True
            if next_id <= _STALE:
                return False
            there = db.execute("SELECT total(count) FROM runs").fetchone()[0]
            return next_id - 1 - there > max(_STALE, there)

        return self._run(count) and not self.is_read_only and os.access(self.path, os.W_OK)

    def discard(self) -> None:
        """Throw it away, with every word in it."""
        self._database.discard()

    def purge(self, there: Collection[Identity]) -> bool:
        """Remove the index if it has words of conversations that are not `there`; the next search
        makes it again. Return whether it was removed. OSError if it cannot be removed."""
        if not os.path.isfile(self.path) or os.path.islink(self.path):
            return False  # a link or a folder, which is not ours
        try:
            has = self._database.run(lambda db: fact(db, GONE)) > 0
            has = has or not self.known().keys() <= {*there}
        except (sqlite3.Error, OSError):
            has = True
        if has:
            self._database.close()
            remove_database(self.path)
        return has

    def use_memory(self, reason: str) -> None:
        """Continue with an empty index in memory."""
        self._database.use_memory(reason)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._database.repeat(lambda: self._database.run(work))

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work`; AnewError if the index was replaced, so that earlier texts are gone."""
        generation = self._database.generation

        def write() -> T:
            if self._database.generation != generation:
                raise AnewError
            return self._database.run(work)

        return self._database.repeat(write)
