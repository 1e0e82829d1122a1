"""Find the texts that match a query, the newest first.

Texts are numbered in the order in which they are indexed. Usually, a text with a greater number is
newer. But several conversations may run at the same time, and an old conversation may be indexed
late. A *block* is a range of 1024 numbers, and a *run* has consecutive texts of one conversation.
The index stores the latest time of each block and run. The search opens the block or run with the
latest time first. It yields a text as soon as no unopened block or run can contain a newer text. So
a search for a common word opens only a few blocks.

Every search imports this module, so the module itself imports very little.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_rows import (
    AS_IS,
    BLOCK,
    LONGEST_RUN,
    Identity,
    TextMatch,
    fact,
    key_of,
    unpacked,
)

_MATCH = "SELECT rowid FROM words WHERE words MATCH ? AND rowid >= ? AND rowid < ?"
_BLOCKS = """
SELECT number, latest FROM blocks WHERE earliest <= ? ORDER BY latest DESC, number DESC
"""
_GIVEN_BLOCKS = _BLOCKS.replace("WHERE", "WHERE number IN (SELECT value FROM json_each(?)) AND")
_RUNS_OF = """
SELECT r.first, r.first + r.count - 1 FROM sources o CROSS JOIN runs r ON r.source = o.id
WHERE o.root = ? AND o.path = ?
"""
_RUNS = """
SELECT r.first, r.count, r.number, r.at, r.latest, r.spots, o.root, o.path
FROM runs r CROSS JOIN sources o ON o.id = r.source WHERE r.first > ? AND r.first <= ?
"""
_FIRST_BLOCKS = 3
"""The number of blocks to search first. Their matches show how many more blocks are needed."""
_MOST_RANGES = 16
"""The maximum number of separate ranges of numbers that are queried one by one."""
_Block = tuple[int, int]
"""The number of a block, and the latest time in it."""
Place = tuple[int, int]
"""The position of a text in the order of results: its time and its number."""


class _MatchRun(NamedTuple):
    """A run (consecutive texts of one conversation) in which some texts match.

    `first` is the number of the run's first text. `number` and `at` are the message number and the
    file position of this text. `latest` is the latest time of all texts in the run, and `spots` has
    their packed locations. `ids` has the numbers of the texts that match.
    """

    first: int
    number: int
    at: int
    latest: int
    spots: bytes
    identity: Identity
    ids: list[int]


_Item = tuple[int, int, int, "_MatchRun | TextMatch"]
"""A run or a text that waits to be opened or yielded, with its time first, for sorting.

A run is opened before a text of the same time is yielded, because the run may have such a text.
"""


class Newest:
    """An iterable of the texts that match an FTS5 expression, the newest first.

    `most` is the number of texts that the caller will probably take. Only texts after the position
    `before` are yielded; None means all texts. `skips` is a function that returns True if the
    caller needs no more texts of a conversation. If `within` is not empty, only the blocks with
    texts of these conversations are searched.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        expression: str,
        most: int,
        before: Place | None,
        skips: Callable[[Identity], bool],
        within: Collection[Identity],
    ) -> None:
        self._db, self._expression = db, expression
        self._most, self._before, self._skips, self._within = most, before, skips, within
        self._latest_time = before[0] if before else 2**63 - 1

    def __iter__(self) -> Iterator[TextMatch]:
        waiting: list[_Item] = []
        for blocks, ids in self._match_blocks():
            matching_blocks = {id // BLOCK for id in ids}
            # For a rare word, visiting every block would take longer than the query.
            for number, latest in [
                block for block in blocks if block[0] in matching_blocks
            ] or blocks[:1]:
                yield from self._yield_newer(waiting, latest)
                first = bisect_left(ids, number * BLOCK)
                ids_in_block = ids[first : bisect_left(ids, (number + 1) * BLOCK, first)]
                if ids_in_block:
                    waiting += [(run.latest, 1, run.first, run) for run in self._runs(ids_in_block)]
                    waiting.sort()
        yield from self._yield_newer(waiting, None)

    def _yield_newer(self, waiting: list[_Item], time: int | None) -> Iterator[TextMatch]:
        """Yield the waiting texts that are newer than `time`. None means all waiting texts.

        A waiting run that may have such texts is opened: its texts replace the run in `waiting`.
        """
        while waiting and (time is None or waiting[-1][0] > time):
            item = waiting.pop()[3]
            if isinstance(item, TextMatch):
                yield item
            elif not self._skips(item.identity):
                waiting += [(spot.time, 0, spot.id, spot) for spot in self._spots(item)]
                waiting.sort()

    def _match_blocks(self) -> Iterator[tuple[Sequence[_Block], list[int]]]:
        """Yield groups of blocks, the latest first, each with the numbers of its matching texts.

        Each group has about as many blocks as are needed for enough matches. Before a group is
        searched, its first block is yielded alone and without matches. The caller can then yield
        texts that are newer than this block, and may not need the group. If the first group has no
        match, the next group has all other blocks with a match.
        """
        if self._within:
            numbers_within = self._blocks_of(self._within)
            blocks = self._latest_first(numbers_within)
            yield blocks, self._ids_in(sorted(numbers_within)) if blocks else []
            return
        order, match_count = self._db.execute(_BLOCKS, (self._latest_time,)), 0
        searched: list[int] = []
        count = _FIRST_BLOCKS
        while blocks := order.fetchmany(count):
            # The waiting texts that are newer than these blocks may already be enough.
            yield blocks[:1], []
            numbers = sorted([number for number, _ in blocks])
            ids = self._ids_in(numbers)
            yield blocks, ids
            searched += numbers
            match_count += len(ids)
            if not match_count:
                ids = self._ids_between(0, fact(self._db, "next"))
                yield self._latest_first({id // BLOCK for id in ids}.difference(searched)), ids
                return
            count = max(2 * len(searched) * self._most // match_count, len(searched))

    def _latest_first(self, blocks: Collection[int]) -> list[_Block]:
        return self._db.execute(_GIVEN_BLOCKS, (str([*blocks]), self._latest_time)).fetchall()

    def _blocks_of(self, identities: Collection[Identity]) -> set[int]:
        numbers: set[int] = set()
        for identity in identities:
            for first, last in self._db.execute(_RUNS_OF, key_of(identity)):
                numbers.update(range(first // BLOCK, last // BLOCK + 1))
        return numbers

    def _ids_in(self, blocks: Sequence[int]) -> list[int]:
        """Return the numbers of the matching texts in these blocks.

        If there are many gaps between the blocks, the result also has the matches in the gaps,
        because one query for all blocks is then faster. The caller ignores these matches.
        """
        gaps = [n for n in range(1, len(blocks)) if blocks[n] > blocks[n - 1] + 1]
        if len(gaps) >= _MOST_RANGES:
            gaps = []
        bounds = zip((0, *gaps), (*gaps, len(blocks)), strict=True)
        ranges = [(blocks[first], blocks[last - 1] + 1) for first, last in bounds]
        found = [self._ids_between(low * BLOCK, high * BLOCK) for low, high in ranges]
        return [id for ids in found for id in ids]

    def _ids_between(self, low: int, high: int) -> list[int]:
        return [id for (id,) in self._db.execute(_MATCH, (self._expression, low, high))]

    def _runs(self, ids: list[int]) -> Iterator[_MatchRun]:
        """Yield the runs that contain the texts with these numbers. A deleted text is in no run."""
        rows = self._db.execute(_RUNS, (ids[0] - LONGEST_RUN, ids[-1]))
        for first, count, number, at, latest, spots, root, path in rows:
            start = bisect_left(ids, first)
            ids_in_run = ids[start : bisect_left(ids, first + count, start)]
            if ids_in_run:
                identity = root.decode("utf-8", AS_IS), path.decode("utf-8", AS_IS)
                yield _MatchRun(first, number, at, latest, spots, identity, ids_in_run)

    def _spots(self, run: _MatchRun) -> Iterator[TextMatch]:
        for id in run.ids:
            offset = id - run.first
            time, at, size, _, role = unpacked(run.spots, offset)
            if self._before is None or (time, id) < self._before:
                number, begin = run.number + offset, run.at + at
                yield TextMatch(id, run.identity, number, role, time, begin, size)
