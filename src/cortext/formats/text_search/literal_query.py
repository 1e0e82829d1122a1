"""Search for a query as it was typed: an error message, a path or the name of a function.

A transcript file is JSON, in which some characters are escaped. Therefore the bytes of the file are
first searched for *needles*: parts of the query that JSON does not change. If the file contains the
needles, its texts are decoded and compared with the whole query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from cortext.formats.text_search.search_query import LONGEST_QUERY, Snippet, excerpt_at

_PLAIN = r"[!#-%'-;=?-\[\]-~]"
"""Matches a character that no JSON encoder escapes: not quotes, `\\`, `&`, `<` or `>`."""
_RUN = re.compile(rf"(?:{_PLAIN}|(?<=\S) (?=\S))+")
_CHUNK = re.compile(rf"{_PLAIN}{{3,}}")
_FOREIGN_RUN = re.compile(r"[^\x00-\x7f]+")
_SHORTEST_NEEDLE = 3
_MOST_CHUNKS = 8
_QUOTED = re.compile(r'"([^"]*)"')
_OPERATORS = re.compile(r"(?:^|\s)(?:AND|OR|NOT)\s|(?:^|\s)-\w")
_CODE = re.compile(
    r"[/\\=(){}\[\]<>_$@%|~^`+*\t]|::|  |\w[.:]+\w|[a-z][A-Z]|[A-Z]{2}\w*\d|\d\w*[A-Z]{2}"
    r"|(?i:error|exception|warning|warn|fatal|panic|failed):"
)
"""Matches text that people rarely type unless they search for code, a path or a line of output."""
_WORD_START = r"(?:(?<![^\W_])|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]+")
_LONGEST_WORD = 300
"""The number of characters from which an unbroken run of letters and digits counts as base64."""


class LiteralText:
    """A query that is searched as it was typed. Upper case and white space do not matter.

    `parts` are the quoted parts of the query, and its words that occur in no indexed text. A
    message that contains all parts is found even if it does not contain the whole query.
    """

    def __init__(self, text: str, missing: Sequence[str] = ()) -> None:
        text = text[:LONGEST_QUERY].strip()
        whole = _QUOTED.fullmatch(text)
        self.text: str = (whole[1] if whole else text).strip()
        quoted = [] if whole else [part.strip() for part in _QUOTED.findall(text)]
        self.parts: list[str] = [*dict.fromkeys([*filter(None, quoted), *missing])]
        self._is_typing = text.endswith("*") and text[-2:-1].isalnum()
        self._has_operators = bool(_OPERATORS.search(text))

    @property
    def is_searchable(self) -> bool:
        """Whether the query can be searched as it was typed.

        The query must have a needle, which is a part that JSON does not change. It must have no
        operators, and no `*` after its last word.
        """
        return bool(self.needle) and not (self._is_typing or self._has_operators)

    @property
    def is_code(self) -> bool:
        """Whether the query looks like code, a path or a line of output."""
        return bool(_CODE.search(self.text))

    @property
    def is_spaced(self) -> bool:
        """Whether the query has tabs or several spaces in a row, which people rarely type."""
        return "\t" in self.text or "  " in self.text

    @property
    def code_words(self) -> list[str]:
        """The words of the query that look like code or a path."""
        return [word for word in self.text.split() if _CODE.search(word)]

    @cached_property
    def needle(self) -> bytes:
        """The longest part of the query that JSON does not change; b"" if the part is too short."""
        found = _RUN.findall(self.text) or _FOREIGN_RUN.findall(self.text)
        needle = max(found, key=len, default="").strip().encode("utf-8", "replace")
        return needle if len(needle) >= _SHORTEST_NEEDLE else b""

    @property
    def small_needles(self) -> list[bytes]:
        """Short pieces of the query that a file with a match contains, the longest first.

        The pieces are in lower case, but the file may have them in upper case too. They come from
        `parts`, or from the whole query if there are no parts.
        """
        texts = self.parts or [self.text]
        chunks = {chunk.lower() for text in texts for chunk in _CHUNK.findall(text)}
        found = sorted(chunks, key=len, reverse=True)[:_MOST_CHUNKS]
        return [chunk.encode() for chunk in found] or [self.needle.lower()]

    @cached_property
    def _whole(self) -> _TextPattern:
        return _TextPattern(self.text)

    @cached_property
    def _part_patterns(self) -> list[_TextPattern]:
        return [*map(_TextPattern, self.parts)]

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the whole query in `text`.

        The result is None if `text` does not contain the query.
        """
        return self._whole.find(text)

    def find_parts(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the first of the query's `parts` in `text`.

        The result is None if `text` does not contain all parts, or if there are no parts.
        """
        spans = [pattern.find(text) for pattern in self._part_patterns]
        return spans[0] if spans and all(spans) else None


def excerpt(text: str, span: tuple[int, int]) -> Snippet:
    """Return the excerpt of a text around a found span (start and end), with the span marked."""
    start, end = span
    cut = excerpt_at(text, start)
    first = len(cut.left) + len(cut.before)
    length = min(len(" ".join(text[start:end].split())), len(cut.after))
    return Snippet(cut.text, [(first, first + length)] if length else [])


class _TextPattern:
    """A pattern that finds a text in other texts. Upper case and white space do not matter.

    A match does not begin in the middle of a word, but it may end there.
    """

    def __init__(self, text: str) -> None:
        words = text.split()
        pattern = r"\s+".join(map(re.escape, words))
        start = _WORD_START if text[:1].isalnum() else ""
        self._pattern = re.compile(start + pattern, re.IGNORECASE)
        self._longest_word = max(words, key=len, default="").lower()

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the first match in `text`, or None if there is no match.

        Matches inside encoded data, such as an image in base64, do not count.
        """
        # A regular expression in any case is slow. Outside ASCII, it knows more pairs of letters.
        word = self._longest_word
        if text.isascii() and word.isascii() and word not in text.lower():
            return None
        for match in self._pattern.finditer(text):
            if match.end() > match.start() and not _is_base64(text, *match.span()):
                return match.span()
        return None


def _is_base64(text: str, start: int, end: int) -> bool:
    """Return whether a span is inside encoded data, such as an image in base64."""
    around = text[max(start - _LONGEST_WORD, 0) : end + _LONGEST_WORD]
    at = min(start, _LONGEST_WORD)
    for run in _BASE64.finditer(around):
        if run.start() <= at < run.end():
            return run.end() - run.start() >= _LONGEST_WORD
    return False
