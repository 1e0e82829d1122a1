"""Splitting markdown that arrives in pieces into blocks, and counting terminal rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_PARTS = re.compile(r"[^\n]*\n|[^\n]+")
_TOLD_BY = 200
"""How many characters of a line are needed to recognise a fence or a list item."""
_ITEM_STARTS = "-*+0123456789"


class Blocks:
    """A splitter that finds the ends of blocks in markdown that arrives in pieces.

    A paragraph ends where text follows a blank line. A code fence ends with its closing line. A
    list ends where a line after a blank line is neither indented nor a list item.
    """

    def __init__(self) -> None:
        self._line = ""
        self._begin()

    def _begin(self) -> None:
        self._any = self._blank = self._listed = False
        self._fence = ""

    def feed(self, piece: str) -> Iterator[tuple[str, bool]]:
        """Split the next piece of the markdown into lines, and yield these.

        Each line comes with a flag that tells whether a block ended right before it. The last line
        may be incomplete.
        """
        for part in _PARTS.findall(piece):
            ended = not self._line and self._ends_before(part[0])
            if ended:
                self._begin()
            yield part, ended
            if len(self._line) < _TOLD_BY:
                self._line += part
            if part.endswith("\n"):
                self._take(self._line.rstrip("\n"))
                self._line = ""

    def _ends_before(self, first: str) -> bool:
        if not self._blank or self._fence or first.isspace():
            return False
        return not (self._listed and first in _ITEM_STARTS)

    def _take(self, line: str) -> None:
        fence = _FENCE.fullmatch(line)
        if self._fence:
            if fence and _closes(self._fence, fence[2], fence[3]):
                self._fence, self._blank = "", True
        elif fence and (len(fence[1]) < 4 or self._listed):
            self._fence, self._any = fence[2], True
        elif line.strip():
            self._listed = self._listed or (not self._any and _ITEM.match(line) is not None)
            self._any, self._blank = True, False
        else:
            self._blank = self._any


def _closes(opened: str, found: str, rest: str) -> bool:
    return found[0] == opened[0] and len(found) >= len(opened) and not rest.strip()


def rows(text: str, width: int) -> int | None:
    """Return how many rows of a terminal a text needs.

    Every line must end with a newline. Return None if the text has a character for which terminals
    use different widths.
    """
    found = 0
    for line in text.split("\n")[:-1]:
        taken = _line_rows(line, width)
        if taken is None:
            return None
        found += taken
    return found


def _line_rows(line: str, width: int) -> int | None:
    if line.isascii():
        return max(1, -(-len(line) // width))

    found, column = 1, 0
    for character in line:
        if _is_disputed(character, unicodedata.category(character)):
            return None
        size = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if column + size > width:
            found, column = found + 1, 0
        column += size
    return found


def _is_disputed(character: str, category: str) -> bool:
    """Return whether terminals show a character with different widths.

    Some terminals combine such a character with its neighbours.
    """
    if category in ("Mn", "Me", "Mc", "Cf", "Co"):
        return True
    return "\U0001f1e6" <= character <= "\U0001f1ff" or "\U0001f3fb" <= character <= "\U0001f3ff"
