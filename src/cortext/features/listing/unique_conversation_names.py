"""Find short unique names for conversations, and the command that continues a conversation."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

from cortext.catalog.row import AUR, DOCUMENT, ConversationRow

_GREATEST_CHARACTER = "\U0010ffff"
"""The greatest Unicode character. It is sorted after all other characters."""


class Names:
    """All names of the given rows, to find out whether a name matches one row or several."""

    def __init__(self, rows: Iterable[ConversationRow]) -> None:
        self._path_ends: Counter[str] = Counter()
        self._own_ids: Counter[str] = Counter()
        keys: list[str] = []
        rows = list(rows)
        paths = Counter([row.path for row in rows])
        seen: set[tuple[str, int, int]] = set()
        for row in rows:
            if tool := row.tool:
                keys.append(row.key)
                if tool == DOCUMENT and (own_id := row.own_id):
                    self._own_ids[own_id] += 1
                continue
            if paths[row.path] > 1:
                # Copies with the same number of messages count once: each of them is good enough.
                copy_key = row.path, row.created_at, row.messages
                if copy_key in seen:
                    continue
                seen.add(copy_key)
            # The end of a conversation's path, from any "/" on, is a name of the conversation.
            name = row.path
            while name := name.partition("/")[2]:
                self._path_ends[name] += 1
        self._keys = sorted(keys)
        self._key_counts = Counter(keys)

    def count(self, name: str) -> int:
        """Return the number of rows that a name matches.

        A name matches a session whose id is equal to the name. It also matches a conversation whose
        path ends with the name. If no session has this id, the name also matches a session whose id
        starts with the name, and a document to which a program gave this id.
        """
        if exact := self._key_counts[name]:
            return exact + self._path_ends[name]
        first = bisect_left(self._keys, name)
        last = bisect_left(self._keys, f"{name}{_GREATEST_CHARACTER}", first)
        return last - first + self._path_ends[name] + self._own_ids[name]

    def of(self, row: ConversationRow, *shorter: str) -> str:
        """Return a name that only this row has, and that every command accepts.

        These names are tried in order, and the first unique name is returned: the names in
        `shorter`, the id, `DATE/ID`, and the absolute path.
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
