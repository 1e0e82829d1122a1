"""Find short unique names for conversations, and the command that continues a conversation."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

from cortext.catalog.row import AUR, DOCUMENT, ConversationRow

_LAST = "\U0010ffff"
"""The greatest Unicode character, which sorts after all others."""


class Names:
    """The names of all rows, to find out how many rows a name matches."""

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
                # Copies with the same number of messages count once: any of them will do.
                same = row.path, row.created_at, row.messages
                if same in seen:
                    continue
                seen.add(same)
            # The end of a conversation's path, from any "/" on, is a name of the conversation.
            name = row.path
            while name := name.partition("/")[2]:
                self._ends[name] += 1
        self._keys = sorted(keys)
        self._whole = Counter(keys)

    def count(self, name: str) -> int:
        """Return the number of rows that a name matches.

        If no session has exactly this name as its id, sessions whose id starts with the name count
        as well. So do documents to which a program gave the name as id.
        """
        if whole := self._whole[name]:
            return whole + self._ends[name]
        first = bisect_left(self._keys, name)
        last = bisect_left(self._keys, f"{name}{_LAST}", first)
        return last - first + self._ends[name] + self._own[name]

    def of(self, row: ConversationRow, *shorter: str) -> str:
        """Return a name that only this row has, and that every command accepts.

        The first unique name is returned: one of `shorter`, the id, `DATE/ID`, or the absolute
        path.
        """
        names = (*shorter, row.key) if row.tool else (*shorter, row.key, row.address)
        for name in names:
            if self.count(name) < 2:
                return name
        return whole_path(row)


def whole_path(row: ConversationRow) -> str:
    """Return the absolute path of a conversation's folder or of a session's file."""
    return row.path if row.tool else f"{row.workspace}/{row.path}"


def reopens(row: ConversationRow, name: str, quote: Callable[[str], str]) -> str:
    """Return the shell command that continues a conversation.

    `name` is one of the conversation's names, and `quote` quotes an argument for the shell.
    """
    # `spawn` knows only its own sessions, so the id is enough.
    if row.tool == AUR:
        return f"cortext spawn --resume {quote(row.key)}"
    return f"cortext resume {quote(name)}"
