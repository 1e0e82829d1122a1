"""The full-text index: which words occur in which messages of which conversations.

For each text, the index stores a *spot*: the number of the message in its conversation, and the
position of its line if the messages are lines of a file. Spots are numbered in the order in which
the texts are indexed. Consecutive spots of one conversation are stored together as a *run*. A text
that is not a line of a file, such as a message of a transcript, is stored with its run. For each
conversation, the index stores a *state*: a text that says how much of the conversation has been
indexed.

SQLite cannot remove the words of a text from such an index. When a text is deleted, only its spot
is removed, so that searches do not find the text. When most texts are deleted, the whole index is
deleted and built again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from cortext import paths
from cortext.catalog.fulltext.fulltext_rows import (
    AS_IS,
    GONE,
    MARKDOWN,
    REPLACED,
    ROLES,
    SCHEMA,
    SIDE,
    SIZE,
    TITLE,
    Identity,
    IndexRebuiltError,
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
    stored_texts,
)
from cortext.catalog.fulltext.newest_matches import Newest, Place
from cortext.catalog.fulltext.ranked_matches import (
    RankedConversation,
    RankingScope,
    contains_word,
    rank,
)
from cortext.catalog.rebuildable_database import Database, Fallback, is_bad_query, remove_database

__all__ = [
    "MARKDOWN",
    "ROLES",
    "SIDE",
    "TITLE",
    "FulltextIndex",
    "Identity",
    "IndexRebuiltError",
    "TextEntry",
    "TextMatch",
    "Work",
]  # fmt: skip

T = TypeVar("T")
_VERSION = 10
_MERGE = {"automerge": 4, "crisismerge": 16}
_NO_MERGE = {"automerge": 0, "crisismerge": 1999}
_STALE, _STALE_SIZE = 100_000, 64 << 20
"""The maximum numbers of deleted texts and of replaced characters in the index.

The index is stale if a limit is exceeded and more than half of it is deleted or replaced.
"""
_MAPPED_BYTES = 1 << 30
"""The number of bytes of the index file that SQLite may map into memory."""


class FulltextIndex:
    """The full-text index (which word occurs in which message), in the database file `path`.

    Any number of processes can search at the same time, and one of them can add texts. If the file
    cannot be written, it is opened read-only. If it cannot be read either, the index is in memory.
    """

    def __init__(self, path: str) -> None:
        self._database = Database(
            path,
            schema=SCHEMA,
            version=_VERSION,
            name="the search index",
            fallback=Fallback.READ_ONLY,
            # A phrase query reads hundreds of pages.
            mapped_bytes=_MAPPED_BYTES,
        )

    @classmethod
    def at_home(cls) -> FulltextIndex:
        """Return the full-text index of the current user."""
        return cls(paths.words())

    def __enter__(self) -> FulltextIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @property
    def path(self) -> str:
        """The path of the index file; `MEMORY` for an index in memory."""
        return self._database.path

    @property
    def is_read_only(self) -> bool:
        """Whether no texts can be added, because the file cannot be written."""
        return self._database.is_read_only

    @property
    def lock(self) -> str:
        """The path of the lock file for adding texts; "" for an index in memory."""
        return "" if self._database.is_in_memory else f"{self.path}.lock"

    def known(self) -> dict[Identity, str]:
        """Return the state that `put` stored for each conversation, by the identity of its row."""
        rows = self._run(lambda db: db.execute("SELECT root, path, state FROM sources").fetchall())
        # Decode each root once: with many rows, a search spends most of its time here.
        roots = {root: root.decode("utf-8", AS_IS) for root in {row[0] for row in rows}}
        return {(roots[root], path.decode("utf-8", AS_IS)): state for root, path, state in rows}

    def has_conversations(self) -> bool:
        """Return whether the index has at least one conversation."""
        query = "SELECT 1 FROM sources LIMIT 1"
        return self._run(lambda db: db.execute(query).fetchone() is not None)

    def mark(self) -> tuple[int, int]:
        """Return the checksum of rows and the day that `set_mark` stored.

        If the checksum equals that of the caller's rows, the index has all conversations of these
        rows. The checksum is 0 if `set_mark` was never called, or if the index changed since the
        last call.
        """
        return self._run(lambda db: (fact(db, "mark"), fact(db, "day")))

    def set_mark(self, mark: int, day: int, count: int) -> None:
        """Record that the index has all conversations of a list of rows.

        `mark` is a checksum of the list, `count` is the number of rows, and `day` is the number of
        the current day. If the index does not have exactly `count` conversations, nothing is
        recorded. When the index changes, the recorded checksum is deleted.
        """
        rows = [("mark", mark), ("day", day)]

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            # Another process may have discarded the index meanwhile.
            if db.execute("SELECT count(*) FROM sources").fetchone()[0] == count:
                db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

        self._write(write)

    def put(self, identity: Identity, state: str, new: Sequence[TextEntry], *, keep: bool) -> int:
        """Add texts of one conversation and store its state. Return the number of texts added.

        `identity` is the identity of the conversation's row. `state` is a text that tells the
        caller later how much of the conversation is indexed. With `keep`, earlier texts of the
        conversation stay in the index. Without `keep`, `new` replaces them.
        """
        return self.put_all([(identity, state, new, keep)])

    def put_all(self, work: Iterable[Work], *, bulk: bool = False) -> int:
        """Add texts of several conversations in one transaction. Return the number of texts added.

        Each item of `work` has the arguments of `put`. With `bulk`, additions are faster, but the
        caller must call `settle` after the last one. Raises IndexRebuiltError if `keep` is set for
        a conversation whose earlier texts the index has lost.
        """

        def write(db: sqlite3.Connection) -> int:
            db.execute("BEGIN IMMEDIATE")
            if bulk and not fact(db, "bulk"):
                configure(db, _NO_MERGE)
                db.execute("INSERT OR REPLACE INTO facts VALUES ('bulk', 1)")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            first = next_id = fact(db, "next") or 1
            added: list[TextEntry] = []
            for identity, state, new, keep in work:
                source = put_source(db, identity, state, keep=keep)
                next_id = put_runs(db, source, new, next_id)
                added += [entry for entry in new if entry.text]
            put_texts(db, first, added)
            db.execute("INSERT OR REPLACE INTO facts VALUES ('next', ?)", (next_id,))
            return next_id - first

        return self._write(write)

    def drop(self, identities: Iterable[Identity]) -> None:
        """Remove deleted conversations from search results. Their words stay in the index file."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            for identity in identities:
                drop_source(db, identity)

        self._write(write)

    def forget(self, identities: Iterable[Identity]) -> None:
        """Delete the stored states of conversations, so the next refresh reads all their messages.

        Until then, searches still find the texts that are indexed now.
        """

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM facts WHERE name = 'mark'")
            keys = map(key_of, identities)
            db.executemany("UPDATE sources SET state = '' WHERE root = ? AND path = ?", keys)

        self._write(write)

    @property
    def is_settled(self) -> bool:
        """Whether all bulk additions were followed by a call of `settle`."""
        return not self._run(lambda db: fact(db, "bulk"))

    def settle(self) -> None:
        """Merge the parts of the index that bulk additions created, and compact the file."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            db.execute("INSERT INTO stems (stems) VALUES ('optimize')")
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
        """Yield the location of each text that matches an FTS5 expression, the newest first.

        If two texts have the same time, the one that was indexed later comes first. The search
        continues only while the caller takes results. An invalid expression gives no results.

        - `most`: the number of results that the caller will probably take. There may be more
          results
        - `before`: the position of a result. Only results after this position are yielded
        - `skips`: a function that returns True if the caller needs no more texts of a conversation.
          A few texts of such a conversation may still be yielded
        - `within`: the conversations to search; () means all. Texts of other conversations may
          still be yielded
        """
        try:
            yield from self._run(lambda db: Newest(db, expression, most, before, skips, within))
        except sqlite3.DatabaseError as error:
            # The caller may have taken some results, so the search ends instead of starting again.
            if not is_bad_query(error):
                self._database.recover(error)

    def rank(self, words: Sequence[str], chosen: RankingScope) -> list[RankedConversation]:
        """Return the conversations that contain any of the words, the best match first.

        `chosen` says which conversations and texts are searched.
        """

        def read(db: sqlite3.Connection) -> list[RankedConversation]:
            # Another process may replace texts between two queries of a ranking.
            db.execute("BEGIN")
            return rank(db, words, chosen)

        return self._run(read)

    def stored_texts(self, id: int) -> tuple[int, list[str]]:
        """Return consecutive stored texts of one conversation, and the number of the first text.

        The texts include the text with the number `id`, unless the index does not store that text.
        """
        return self._run(lambda db: stored_texts(db, id))

    def contains_word(self, word: str, chosen: RankingScope) -> bool:
        """Return whether one of the searched conversations contains exactly this word."""
        return self._run(lambda db: contains_word(db, word, chosen))

    @property
    def is_stale(self) -> bool:
        """Whether most texts in the index are deleted or replaced, so that `discard` is worthwhile.

        Always False for a read-only index.
        """

        def count(db: sqlite3.Connection) -> bool:
            next_id = fact(db, "next")
            replaced = fact(db, REPLACED)
            if replaced > max(_STALE_SIZE, fact(db, SIZE) - replaced):
                return True
            if next_id <= _STALE:
                return False
            live = db.execute("SELECT total(count) FROM runs").fetchone()[0]
            return next_id - 1 - live > max(_STALE, live)

        return self._run(count) and not self.is_read_only and os.access(self.path, os.W_OK)

    def discard(self) -> None:
        """Delete the index with every word in it, and open an empty index."""
        self._database.discard()

    def purge(self, there: Collection[Identity]) -> bool:
        """Delete the index file if it has words of deleted texts or cannot be read.

        Return whether the file was deleted. The next search then builds the index again. `there`
        contains the conversations that exist. Raises OSError if the file cannot be deleted.
        """
        if not os.path.isfile(self.path) or os.path.islink(self.path):
            return False  # a link or a folder, which cortext did not make
        try:
            has_deleted_words = self._database.run(lambda db: fact(db, GONE)) > 0
            has_deleted_words = has_deleted_words or not self.known().keys() <= {*there}
        except (sqlite3.Error, OSError):
            has_deleted_words = True
        if has_deleted_words:
            self._database.close()
            remove_database(self.path)
        return has_deleted_words

    def use_memory(self, reason: str) -> None:
        """Continue with an empty index in memory, and log the reason."""
        self._database.use_memory(reason)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return self._database.repeat(lambda: self._database.run(work))

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Call `work` with the database in one transaction, and return its result.

        Raises IndexRebuiltError if the database was replaced meanwhile, because the new database
        does not have the texts that were added before.
        """
        generation = self._database.generation

        def write() -> T:
            if self._database.generation != generation:
                raise IndexRebuiltError
            return self._database.run(work)

        return self._database.repeat(write)
