"""Splitting streamed markdown into blocks, and counting the terminal rows of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_PARTS = re.compile(r"[^\n]*\n|[^\n]+")
_TOLD_BY = 200
"""Characters at the start of a line that are enough to recognise its kind."""
_ITEM_STARTS = "-*+0123456789"


class Blocks:
    """A splitter of streamed markdown into blocks.

    A paragraph ends where text follows a blank line. A code fence ends with its closing line. A
    list ends where, after a blank line, a line without indentation is not a list item.
    """

    def __init__(self) -> None:
        self._line = ""
        self._begin()

    def _begin(self) -> None:
        self._any = self._blank = self._listed = False
        self._fence = ""

    def feed(self, piece: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a piece, each with whether a block ended right before that part."""
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
    """Return how many terminal rows a text takes; every line must end with a newline.

    Return None if terminals disagree about the width of a character in the text.
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
    """Return whether a character joins its neighbours in some terminals and not in others."""
    if category in ("Mn", "Me", "Mc", "Cf", "Co"):
        return True
    return "\U0001f1e6" <= character <= "\U0001f1ff" or "\U0001f3fb" <= character <= "\U0001f3ff"
