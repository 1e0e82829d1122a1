"""The rows of the comparison: what each is, how its figures are told, and who is ahead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.peers import PEERS
from bench.peers.base import Peer

Found = dict[str, Any]
"""What a run found: the JSON."""
PLACES = {
    "files": "Files and SQLite",
    "redis": "Redis, `appendfsync always`",
    "postgres": "PostgreSQL, `synchronous_commit on`",
}
NO_LISTING = Peer.no_list
ENOUGH = 1.05
"""Ours may take this much of the best peer's and count as level: below it is noise."""


class Row(NamedTuple):
    """One piece of work. `best` of two cells is the smaller, unless more is better."""

    key: str
    title: str
    unit: str
    scale: float = 1.0
    more_is_better: bool = False
    needs_sync: bool = False
    """Only those that sync are compared."""


_ROWS = (
    Row("append", "append", "ms", 1e3, needs_sync=True),
    Row("append at long", "append at {long}", "ms", 1e3, needs_sync=True),
    Row("append at longer", "append at {longer}", "ms", 1e3, needs_sync=True),
    Row("last", "last 20 of {long}", "ms", 1e3),
    Row("load", "load {long}", "ms", 1e3),
    Row("list", "list 50 of {sessions}", "ms", 1e3),
    Row("search", "search {texts}", "ms", 1e3),
    Row("rate", "{writers} writers", "appends/s", more_is_better=True, needs_sync=True),
    Row("writers", "{writers} writers: acknowledged / present / errors", ""),
    Row("torn", "torn tail: read of 100", ""),
    Row("disk", "disk", "bytes/message"),
    Row("import", "import", "ms", 1e3),
    Row("memory", "RSS", "MB"),
)


KEYS = [row.key for row in _ROWS]


def rows(found: Found) -> list[Row]:
    """With the sizes of this run in their titles."""
    sizes = {
        name: short(count) if isinstance(count, int) and count >= 1000 else str(count)
        for name, count in found["bounds"].items()
    }
    return [row._replace(title=row.title.format(**sizes)) for row in _ROWS]


def short(count: int) -> str:
    return f"{count // 1000} k" if count % 1000 == 0 else f"{count:,}"


def figure(row: Row, value: float) -> str:
    """Three digits, or all of a larger number."""
    scaled = value * row.scale
    if scaled >= 100:
        return f"{scaled:,.0f}"
    digits = 1 if scaled >= 10 else 2 if scaled >= 0.1 else 3
    return f"{scaled:.{digits}f}"


def told(row: Row, one: Found) -> str:
    """A cell as the table has it; "-" where there is nothing, which the notes explain."""
    value = one["cells"].get(row.key)
    if value is None:
        return "not reached" if "not reached" in one["why"].get(row.key, "") else "-"
    if row.key == "writers":
        acknowledged, present, errors = value
        return f"{acknowledged:,} / {present:,} / {errors:,}"
    if row.key == "torn":
        return f"{value[0]}"
    partly = "*" if one["why"].get(row.key) else ""
    return figure(row, value) + partly


def shown_name(one: Found) -> str:
    return f"**{one['name']}**" if one["ours"] else f"{one['name']} {one['version']}"


def of_place(found: Found, place: str) -> list[Found]:
    return [one for one in found["contestants"].values() if one["place"] == place]


class Verdict(NamedTuple):
    """The best of ours and the best of the others in one row and place."""

    row: Row
    place: str
    ours: Found
    theirs: Found
    factor: float
    """How many times better ours is; below 1 it is worse."""

    @property
    def decided(self) -> bool:
        """Whether an append is judged alike by its time, and by the raw ones that were done in
        turns with it; if not, the disk was not as fast for both."""
        floors = [one["floors"].get(self.row.key) for one in (self.theirs, self.ours)]
        if None in floors:
            return True
        return (floors[0] / floors[1] >= 1) == (self.factor >= 1)

    @property
    def holds(self) -> bool:
        if not self.decided:
            return False
        # Messages are there or not: only what is measured is noisy.
        return self.factor * (ENOUGH if self.row.unit else 1) >= 1


def verdicts(found: Found) -> Iterator[Verdict]:
    """For each place and row in which both have something."""
    for place in PLACES:
        for row in rows(found):
            able = [
                (_goodness(row, one), one)
                for one in of_place(found, place)
                if one["cells"].get(row.key) is not None and (one["syncs"] or not row.needs_sync)
            ]
            ours = max((each for each in able if each[1]["ours"]), key=_first, default=None)
            theirs = max((each for each in able if not each[1]["ours"]), key=_first, default=None)
            if ours and theirs:
                yield Verdict(row, place, ours[1], theirs[1], _factor(ours[0], theirs[0]))


class Exchange(NamedTuple):
    """An adapter of ours and what a program had in its place, row by row."""

    key: str
    ours: Found
    theirs: Found
    verdicts: list[Verdict]
    only_ours: list[Row]
    """What the other cannot do at all."""


def exchanges(found: Found) -> Iterator[Exchange]:
    """Those whose both sides this run has."""
    there = found["contestants"]
    for key, make in PEERS.items():
        ours, theirs = there.get(key), there.get(make.replaces)
        if not (ours and theirs):
            continue
        able = [row for row in rows(found) if ours["cells"].get(row.key) is not None]
        both = [row for row in able if theirs["cells"].get(row.key) is not None]
        judged = [
            Verdict(
                row,
                make.place,
                ours,
                theirs,
                _factor(_goodness(row, ours), _goodness(row, theirs)),
            )
            for row in both
        ]
        yield Exchange(key, ours, theirs, judged, [row for row in able if row not in both])


def missing(found: Found) -> list[str]:
    """The names of contestants that this run has not measured."""
    return [make.name for key, make in PEERS.items() if key not in found["contestants"]]


def _factor(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else float("inf") if ours else 1.0


def _first(each: tuple[float, Found]) -> float:
    return each[0]


def _goodness(row: Row, one: Found) -> float:
    value: Any = one["cells"][row.key]
    if row.key == "writers":
        return _kept(value)
    if row.key == "torn":
        return value[0] / value[1]
    if row.more_is_better:
        return value
    return 1 / value


def _kept(value: list[int]) -> float:
    """The share of what was to be written that was acknowledged and is there."""
    acknowledged, present, errors = value
    return min(acknowledged, present) / (acknowledged + errors)


def noise(found: Found) -> tuple[float, float, float]:
    """The median of the floors in ms, and how far the lowest and the highest are from it, in
    percent."""
    floors = sorted(found["floors"])
    middle = floors[len(floors) // 2]
    return middle * 1e3, (floors[0] / middle - 1) * 100, (floors[-1] / middle - 1) * 100
