"""Where blocks of markdown end while their text comes in, and what room they take on a screen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_PARTS = re.compile(r"[^\n]*\n|[^\n]+")
_TOLD_BY = 200
"""Characters of a line that are enough to know what it is."""
_ITEM_STARTS = "-*+0123456789"


class Blocks:
    """Text in pieces. A paragraph is finished when something else begins after a blank line, a
    fence by the line that closes it, a list by what is no item and stands at the edge."""

    def __init__(self) -> None:
        self._line = ""
        self._begin()

    def _begin(self) -> None:
        self._any = self._blank = self._listed = False
        self._fence = ""

    def feed(self, piece: str) -> Iterator[tuple[str, bool]]:
        """The text of a piece in order, and before which parts of it a block was finished."""
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
    """The rows of a terminal that lines take, each ended by a newline. None where terminals do not
    agree about the width of a character."""
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
    """What joins with its neighbours in one terminal and not in another."""
    if category in ("Mn", "Me", "Mc", "Cf", "Co"):
        return True
    return "\U0001f1e6" <= character <= "\U0001f1ff" or "\U0001f3fb" <= character <= "\U0001f3ff"
