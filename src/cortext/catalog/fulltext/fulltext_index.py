"""The full-text index: which message of which conversation has which words.

It holds no text. A row of the index is a *spot*: a message, by its number in its conversation and,
where each message is a line of a file, by its place there. Spots are numbered as they come; those
that came one after the other are kept as one *run*.
SQLite cannot take a text out of such an index again: spots that are gone are left out of answers,
and when most are, the index is thrown away.

This module is imported by every search, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from cortext import paths
from cortext.catalog.database import Database, is_damage
from cortext.catalog.fulltext.newest_first import Newest, Place
from cortext.catalog.fulltext.tables import (
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
from cortext.durability.replace_file import make_private_dir
from cortext.errors import reason_of

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
_NAME = "the search index"


class _FulltextFile(Database):
    """Mapped into memory: for a phrase hundreds of its pages are looked at."""

    def _connect(self) -> sqlite3.Connection:
        db = super()._connect()
        db.execute(f"PRAGMA mmap_size={_MAPPED}")
        return db


class FulltextIndex:
    """The index in one file, for any number of processes, of which one at a time adds to it.

    Whatever is wrong with the file, it is made anew, empty. Where there cannot be one, what is
    there is read only, and where nothing is there, an index lasts as long as we do.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._database: Database = _FulltextFile(path, schema=SCHEMA, version=_VERSION, name=_NAME)
        self.is_fixed: bool = False
        """Whether nothing can be added: it is on a disk that cannot be written to."""

    @classmethod
    def at_home(cls) -> FulltextIndex:
        """The one of this user."""
        return cls(paths.words())

    def __enter__(self) -> FulltextIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @property
    def path(self) -> str:
        """Its file; ":memory:" if there is none."""
        return self._path

    @property
    def lock(self) -> str:
        """The file whose lock whoever adds to it has; "" if nobody else can."""
        return "" if self._path == ":memory:" else f"{self._path}.lock"

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
        except (sqlite3.DatabaseError, OSError) as error:
            if not _is_no_question(error) and not self._can_go_on(error):
                raise

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

        return self._run(count) and not self.is_fixed and os.access(self._path, os.W_OK)

    def discard(self) -> None:
        """Throw it away, with every word in it."""
        self._database.discard()

    def purge(self, there: Collection[Identity]) -> bool:
        """Leave no word of what is not there any more: if it has one, or cannot be asked, all of it
        goes, and the next search makes it anew. Whether it did. OSError if it cannot be removed."""
        if not os.path.isfile(self.path) or os.path.islink(self.path):
            return False  # what stands in its place is not ours
        try:
            has = self._database.run(lambda db: fact(db, GONE)) > 0
            has = has or not self.known().keys() <= {*there}
        except (sqlite3.Error, OSError):
            has = True
        if has:
            self._database.remove()
        return has

    def leave_disk(self, why: str) -> None:
        """Begin with an empty one that lasts as long as we do."""
        _warn("this search takes longer, because there cannot be an index: %s", why)
        self._database.close()
        self._path = ":memory:"
        self._database = Database(self._path, schema=SCHEMA, version=_VERSION)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._try(work)
        except (sqlite3.DatabaseError, OSError) as error:
            if not self._can_go_on(error):
                raise
        return self._database.run(work)

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """As `_run`; AnewError if what is to be written belongs to an index that is no more."""
        try:
            return self._try(work)
        except (sqlite3.DatabaseError, OSError) as error:
            if not self._can_go_on(error):
                raise
        raise AnewError

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if not self._database.is_open and self._path != ":memory:":
            make_private_dir(os.path.dirname(self._path))
        return self._database.run(work)

    def _can_go_on(self, error: Exception) -> bool:
        """Whether there is another way: a new index, or none on the disk."""
        if self._path == ":memory:" or self.is_fixed or _is_no_question(error):
            return False
        if isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            try:
                self._database.discard()
            except (sqlite3.Error, OSError) as failure:
                error = failure
            else:
                _warn(f"{_NAME} is made anew: %s", error)
                return True
        elif self._database.is_open:
            return False
        self._without_disk(error)
        return True

    def _without_disk(self, error: Exception) -> None:
        self._database.close()
        fixed = Database(self._path, schema=SCHEMA, version=_VERSION, fixed=True)
        try:
            fixed.ready()
        except (sqlite3.Error, OSError):
            self.leave_disk(_why(error))
        else:
            _warn("what is new is not found, because the index cannot be written: %s", _why(error))
            self.is_fixed = True
            self._database = fixed


def _is_no_question(error: Exception) -> bool:
    """Whether it is the question that makes no sense, and not the index."""
    return str(error).startswith("fts5: ")


def _why(error: Exception) -> str:
    """In small letters, and without what Python puts around it."""
    return reason_of(error) if isinstance(error, OSError) else str(error)


def _warn(sentence: str, error: Exception | str) -> None:
    import logging

    logging.getLogger("cortext.catalog").warning(sentence, error)
