"""By which names conversations are found, and the command that goes on with one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

from cortext.catalog.row import AUR, DOCUMENT, ConversationRow

_LAST = "\U0010ffff"
"""The last character that there is."""


class Names:
    """The names of all that can be meant: how many of them each one is good for."""

    def __init__(self, rows: Iterable[ConversationRow]) -> None:
        self._ends: Counter[str] = Counter()
        self._own: Counter[str] = Counter()
        keys: list[str] = []
        rows = list(rows)
        paths = Counter([row.path for row in rows])
        seen: set[tuple[str, int, int]] = set()
        for row in rows:
            if tool := row.tool:
                keys.append(row.key)
                if tool == DOCUMENT and (own := row.own_id):
                    self._own[own] += 1
                continue
            if paths[row.path] > 1:
                # Of copies in which as much was said it is all the same which one is meant.
                same = row.path, row.created_at, row.messages
                if same in seen:
                    continue
                seen.add(same)
            # A conversation is named by its path without what comes before any of its folders.
            name = row.path
            while name := name.partition("/")[2]:
                self._ends[name] += 1
        self._keys = sorted(keys)
        self._whole = Counter(keys)

    def count(self, name: str) -> int:
        """How many have this name; where no session has, of sessions those whose id begins so, or
        which a program knows by it."""
        if whole := self._whole[name]:
            return whole + self._ends[name]
        first = bisect_left(self._keys, name)
        last = bisect_left(self._keys, f"{name}{_LAST}", first)
        return last - first + self._ends[name] + self._own[name]

    def of(self, row: ConversationRow, *shorter: str) -> str:
        """A name that no other has and that every command takes: one that is `shorter`, its id,
        `DATE/ID`, else the whole path of its folder or its file."""
        names = (*shorter, row.key) if row.tool else (*shorter, row.key, row.address)
        for name in names:
            if self.count(name) < 2:
                return name
        return whole_path(row)


def whole_path(row: ConversationRow) -> str:
    return row.path if row.tool else f"{row.workspace}/{row.path}"


def reopens(row: ConversationRow, name: str, quote: Callable[[str], str]) -> str:
    """The command that goes on with a conversation, by a name of it."""
    # `spawn` has no sessions but its own, so that there the id is enough.
    if row.tool == AUR:
        return f"cortext spawn --resume {quote(row.key)}"
    return f"cortext resume {quote(name)}"
