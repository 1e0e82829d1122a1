"""Find the texts that match a query, the newest first.

Texts are numbered in the order in which they are indexed. A greater number usually means a newer
text, but not always: several conversations run at the same time, and old ones may be indexed late.
A *block* is a range of 1024 numbers, and a *run* has consecutive texts of one conversation. The
index stores the latest time of each block and run. The search opens the block or run with the
latest time first. It yields a text when no unopened block or run can have a newer one. The newest
texts with a common word are therefore found in a few blocks.

Every search imports this module, so it imports very little.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_tables import (
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
_THESE = _BLOCKS.replace("WHERE", "WHERE number IN (SELECT value FROM json_each(?)) AND")
_RUNS_OF = """
SELECT r.first, r.first + r.count - 1 FROM sources o CROSS JOIN runs r ON r.source = o.id
WHERE o.root = ? AND o.path = ?
"""
_RUNS = """
SELECT r.first, r.count, r.number, r.at, r.latest, r.spots, o.root, o.path
FROM runs r CROSS JOIN sources o ON o.id = r.source WHERE r.first > ? AND r.first <= ?
"""
_BEGIN = 3
"""How many blocks are searched first. Their matches show how many more blocks are needed."""
_RANGES = 16
"""The maximum number of separate ranges of numbers that are queried one by one."""
_Block = tuple[int, int]
"""The number of a block, and the latest time in it."""
Place = tuple[int, int]
"""The position of a text in the order of results: its time and its number."""


class _MatchRun(NamedTuple):
    """A run of consecutive texts of one conversation, and the numbers of its texts that match."""

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

    `most` is the number of texts that the caller is likely to take. Only texts older than the
    position `before` are yielded. `skips` returns True for a conversation whose texts are no longer
    needed. If `within` is not empty, only the blocks that have texts of these conversations are
    searched.
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
        self._until = before[0] if before else 2**63 - 1

    def __iter__(self) -> Iterator[TextMatch]:
        waiting: list[_Item] = []
        for blocks, ids in self._matched():
            there = {id // BLOCK for id in ids}
            # For a rare word, visiting every block would take longer than the query.
            for number, latest in [block for block in blocks if block[0] in there] or blocks[:1]:
                yield from self._newer(waiting, latest)
                first = bisect_left(ids, number * BLOCK)
                inside = ids[first : bisect_left(ids, (number + 1) * BLOCK, first)]
                if inside:
                    waiting += [(run.latest, 1, run.first, run) for run in self._runs(inside)]
                    waiting.sort()
        yield from self._newer(waiting, None)

    def _newer(self, waiting: list[_Item], than: int | None) -> Iterator[TextMatch]:
        """Yield the waiting texts that are newer than the time `than`. None means all."""
        while waiting and (than is None or waiting[-1][0] > than):
            item = waiting.pop()[3]
            if isinstance(item, TextMatch):
                yield item
            elif not self._skips(item.identity):
                waiting += [(spot.time, 0, spot.id, spot) for spot in self._spots(item)]
                waiting.sort()

    def _matched(self) -> Iterator[tuple[Sequence[_Block], list[int]]]:
        """Yield groups of blocks, the latest first, with the numbers of matching texts in them.

        Each step takes as many blocks as are likely to have enough matches. If the first blocks
        have no match, the next step takes all blocks that have one.
        """
        if self._within:
            there = self._blocks_of(self._within)
            blocks = self._in_order(there)
            yield blocks, self._ids_in(sorted(there)) if blocks else []
            return
        order, found = self._db.execute(_BLOCKS, (self._until,)), 0
        looked: list[int] = []
        count = _BEGIN
        while blocks := order.fetchmany(count):
            # Texts that wait and are newer than these blocks may already be enough.
            yield blocks[:1], []
            numbers = sorted([number for number, _ in blocks])
            ids = self._ids_in(numbers)
            yield blocks, ids
            looked += numbers
            found += len(ids)
            if not found:
                ids = self._ids_between(0, fact(self._db, "next"))
                yield self._in_order({id // BLOCK for id in ids}.difference(looked)), ids
                return
            count = max(2 * len(looked) * self._most // found, len(looked))

    def _in_order(self, blocks: Collection[int]) -> list[_Block]:
        return self._db.execute(_THESE, (str([*blocks]), self._until)).fetchall()

    def _blocks_of(self, identities: Collection[Identity]) -> set[int]:
        found: set[int] = set()
        for identity in identities:
            for first, last in self._db.execute(_RUNS_OF, key_of(identity)):
                found.update(range(first // BLOCK, last // BLOCK + 1))
        return found

    def _ids_in(self, blocks: Sequence[int]) -> list[int]:
        """Return the numbers of the texts in these blocks that match.

        If there are many gaps between the blocks, matches in the gaps are included.
        """
        gaps = [n for n in range(1, len(blocks)) if blocks[n] > blocks[n - 1] + 1]
        if len(gaps) >= _RANGES:
            gaps = []
        bounds = zip((0, *gaps), (*gaps, len(blocks)), strict=True)
        ranges = [(blocks[first], blocks[last - 1] + 1) for first, last in bounds]
        found = [self._ids_between(low * BLOCK, high * BLOCK) for low, high in ranges]
        return [id for ids in found for id in ids]

    def _ids_between(self, low: int, high: int) -> list[int]:
        return [id for (id,) in self._db.execute(_MATCH, (self._expression, low, high))]

    def _runs(self, ids: list[int]) -> Iterator[_MatchRun]:
        """Yield the runs that contain these text numbers. A deleted text is in no run."""
        rows = self._db.execute(_RUNS, (ids[0] - LONGEST_RUN, ids[-1]))
        for first, count, number, at, latest, spots, root, path in rows:
            start = bisect_left(ids, first)
            inside = ids[start : bisect_left(ids, first + count, start)]
            if inside:
                identity = root.decode("utf-8", AS_IS), path.decode("utf-8", AS_IS)
                yield _MatchRun(first, number, at, latest, spots, identity, inside)

    def _spots(self, run: _MatchRun) -> Iterator[TextMatch]:
        for id in run.ids:
            offset = id - run.first
            time, at, size, role = unpacked(run.spots, offset)
            if self._before is None or (time, id) < self._before:
                number, begin = run.number + offset, run.at + at
                yield TextMatch(id, run.identity, number, role, time, begin, size)
