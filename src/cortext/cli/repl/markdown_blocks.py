"""Find the blocks of markdown that arrives in pieces, and count the rows that a text needs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MAX_LINE_START = 200
"""The number of characters of a line that are enough to recognise a code fence or a list item."""
_ITEM_STARTS = "-*+0123456789"


class Blocks:
    """A parser that finds where blocks end in markdown that arrives in pieces.

    A block is a paragraph, a list or a code block. A paragraph ends at a blank line. A code block
    ends at its closing fence. A list ends at a blank line if the next line is neither indented nor
    a list item.
    """

    def __init__(self) -> None:
        self._line = ""
        self._start_block()

    def _start_block(self) -> None:
        self._has_text = self._may_end = self._is_list = False
        self._fence = ""

    def feed(self, piece: str) -> Iterator[tuple[str, bool]]:
        """Split the next piece of the markdown into lines.

        Yield pairs of a line and a flag. The flag is True if a block ended just before the line.
        The last line may be incomplete.
        """
        for part in _LINES.findall(piece):
            ended = not self._line and self._ends_before(part[0])
            if ended:
                self._start_block()
            yield part, ended
            if len(self._line) < _MAX_LINE_START:
                self._line += part
            if part.endswith("\n"):
                self._process_line(self._line.rstrip("\n"))
                self._line = ""

    def _ends_before(self, first: str) -> bool:
        if not self._may_end or self._fence or first.isspace():
            return False
        return not (self._is_list and first in _ITEM_STARTS)

    def _process_line(self, line: str) -> None:
        fence = _FENCE.fullmatch(line)
        if self._fence:
            if fence and _is_closing_fence(self._fence, fence[2], fence[3]):
                self._fence, self._may_end = "", True
        elif fence and (len(fence[1]) < 4 or self._is_list):
            self._fence, self._has_text = fence[2], True
        elif line.strip():
            self._is_list = self._is_list or (not self._has_text and _ITEM.match(line) is not None)
            self._has_text, self._may_end = True, False
        else:
            self._may_end = self._has_text


def _is_closing_fence(opened: str, fence: str, rest: str) -> bool:
    return fence[0] == opened[0] and len(fence) >= len(opened) and not rest.strip()


def rows(text: str, width: int) -> int | None:
    """Return how many rows a text needs in a terminal of `width` columns.

    Every line of the text must end with a newline. Return None if the number is uncertain, because
    the text has a character that is not equally wide in all terminals.
    """
    count = 0
    for line in text.split("\n")[:-1]:
        line_count = _line_rows(line, width)
        if line_count is None:
            return None
        count += line_count
    return count


def _line_rows(line: str, width: int) -> int | None:
    if line.isascii():
        return max(1, -(-len(line) // width))

    count, column = 1, 0
    for character in line:
        if _has_unclear_width(character, unicodedata.category(character)):
            return None
        size = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if column + size > width:
            count, column = count + 1, 0
        column += size
    return count


def _has_unclear_width(character: str, category: str) -> bool:
    """Return whether a character is not equally wide in all terminals.

    Some terminals combine such a character with its neighbours, and others do not. `category` is
    its Unicode category.
    """
    if category in ("Mn", "Me", "Mc", "Cf", "Co"):
        return True
    return "\U0001f1e6" <= character <= "\U0001f1ff" or "\U0001f3fb" <= character <= "\U0001f3ff"
