r"""Decode escapes such as `\n` in a text, and find their original positions."""

from __future__ import annotations

import re
from bisect import bisect_right

# `\n`, `\"`, `\u003d` and so on. Each level of nested strings doubles the backslashes.
_ESCAPE = re.compile(r"\\{1,16}(?:u00([2-7][0-9a-fA-F])|([nrtbf\"'/]))")


class Plain:
    r"""A text in which escapes such as `\n` are decoded.

    `given` is the original text, and `text` is the decoded text. The method `span` converts a start
    and an end in the decoded text to positions in the original text.
    """

    def __init__(self, given: str) -> None:
        self.text: str = given
        self._starts: list[int] = []
        self._original_spans: list[tuple[int, int]] = []
        if "\\" in given:
            self._decode(given)

    def _decode(self, given: str) -> None:
        parts: list[str] = []
        last = length = 0
        for match in _ESCAPE.finditer(given):
            start, end = match.span()
            parts += [given[last:start], _decode_escape(match)]
            length += start - last
            self._starts.append(length)
            self._original_spans.append((start, end))
            length += 1
            last = end
        self.text = "".join([*parts, given[last:]])

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self._original_span(start)[0], self._original_span(end - 1)[1]

    def _original_span(self, index: int) -> tuple[int, int]:
        before = bisect_right(self._starts, index) - 1
        if before < 0:
            return index, index + 1
        if self._starts[before] == index:
            return self._original_spans[before]
        shifted = self._original_spans[before][1] + index - self._starts[before] - 1
        return shifted, shifted + 1


def _decode_escape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return "\n" if escape[2] in "nrtbf" else escape[2]
