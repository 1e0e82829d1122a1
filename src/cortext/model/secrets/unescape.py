r"""Decoding of escapes such as `\n` in text, and conversion of positions to the original text."""

from __future__ import annotations

import re
from bisect import bisect_right

# `\n`, `\"`, `\u003d` and so on. Each level of nested strings doubles the backslashes.
_ESCAPE = re.compile(r"\\{1,16}(?:u00([2-7][0-9a-fA-F])|([nrtbf\"'/]))")


class Plain:
    """A text with decoded escapes. `span` converts a position to one in the original text."""

    def __init__(self, given: str) -> None:
        self.text: str = given
        self._starts: list[int] = []
        self._given: list[tuple[int, int]] = []
        if "\\" in given:
            self._read(given)

    def _read(self, given: str) -> None:
        parts: list[str] = []
        last = length = 0
        for match in _ESCAPE.finditer(given):
            start, end = match.span()
            parts += [given[last:start], _meant(match)]
            length += start - last
            self._starts.append(length)
            self._given.append((start, end))
            length += 1
            last = end
        self.text = "".join([*parts, given[last:]])

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, index: int) -> tuple[int, int]:
        before = bisect_right(self._starts, index) - 1
        if before < 0:
            return index, index + 1
        if self._starts[before] == index:
            return self._given[before]
        shifted = self._given[before][1] + index - self._starts[before] - 1
        return shifted, shifted + 1


def _meant(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return "\n" if escape[2] in "nrtbf" else escape[2]
