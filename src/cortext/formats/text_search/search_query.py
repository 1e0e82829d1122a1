"""Parsing of search queries for the full-text index, and snippets of the texts found.

Every input is a valid query. Words match in any order and case, with or without accents. Words in
quotes, or joined by signs (`foo-bar`, `a/b.py`), must occur in this order. `AND`, `OR` (or `|`) and
`NOT` in capitals are operators, and parentheses group them. A minus before a word excludes the
word. A `*` at the end of a word matches any ending. In scripts without spaces, every character
counts as a word.

A term is a word or a phrase of a query. Texts are compared folded: in lower case, without accents.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from cortext.formats.text_search.text_folding import ALIKE, bare, is_alone, odd, special, spelled
from cortext.formats.text_search.text_folding import folded as folded
from cortext.formats.text_search.text_folding import spaced as spaced

_LONGEST = 2000
_MOST = 40
_ITEM = re.compile(
    r'(?P<minus>(?<![^\s(])-(?=[\w"(]))?(?:"(?P<quoted>[^"]*)"?|(?P<open>\()|(?P<word>\S+))'
)
_SAID = {"AND": "AND", "OR": "OR", "NOT": "NOT", "|": "OR", "||": "OR"}
_LETTER = r"[^\W_]"
_SIGN = r"[\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0971-\u0df3]"
"""Vowel signs of Hebrew, Arabic and Indic scripts, which Python does not count as letters."""
_QUOTES = str.maketrans({sign: plain for sign, plain in ALIKE.items() if plain == '"'})
_SIGNS = re.compile(r"[^\w\s]|_")
_LAST = ".,;:!?*"
"""Punctuation at the end of a word, which is not part of the query."""
_BEFORE, _AROUND = 60, 200
_OFTEN = 100
"""The largest number of occurrences of a term that are examined in one text."""
_PIECE, _BEYOND = 1 << 15, 500
"""The number of characters searched at once, and of further characters included after them."""
_SEEN = 120
"""The number of characters after a snippet's first word in which other words count as shown."""


class Term(NamedTuple):
    """A word or phrase of a query: `tokens` in lower case and without accents, in this order.

    If `is_prefix` is true, the last token may be the beginning of a word. `raw` is the text as
    typed, which the full-text index splits into tokens itself. `sign` is a pattern for a folded
    text, if the term has signs that no token contains, as in `c++`.
    """

    tokens: tuple[str, ...]
    is_prefix: bool = False
    raw: str = ""
    sign: str = ""

    def __str__(self) -> str:
        return f'"{self.raw or " ".join(self.tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def pattern(self) -> str:
        """The regular expression that finds the term in a folded text.

        The text must have spaces around characters that are words on their own, as in Chinese.
        """
        first, *rest = map(re.escape, self.tokens)
        if not is_alone(self.tokens[0]):
            # The lookbehind comes after the letters: a pattern that begins with a literal is fast.
            first += f"(?<!{_letter(first)}{first})"
        alone = self.is_prefix or is_alone(self.tokens[-1])
        return r"[\W_]*".join((first, *rest)) + ("" if alone else f"(?!{_letter(self.tokens[-1])})")


class Clause(NamedTuple):
    """A part of a query with operators.

    A text must contain all parts of `wanted`, or one of them if `either` is true. It must contain
    none of `unwanted`.
    """

    wanted: tuple[Term | Clause, ...]
    unwanted: tuple[Term | Clause, ...] = ()
    either: bool = False

    def __str__(self) -> str:
        """Return the clause in the query syntax of FTS5, SQLite's full-text search."""
        wanted = (" OR " if self.either else " AND ").join(f"({part})" for part in self.wanted)
        return f"({wanted})" + "".join(f" NOT ({part})" for part in self.unwanted)

    @property
    def has_choice(self) -> bool:
        return self.either or any(isinstance(p, Clause) and p.has_choice for p in self.wanted)

    def terms(self) -> Iterator[Term]:
        """Yield all words and phrases that a text should contain, without the excluded ones."""
        for part in self.wanted:
            yield from (part,) if isinstance(part, Term) else part.terms()


class Query(NamedTuple):
    """A parsed query. `whole` is None if there is no word to search for.

    `dropped` contains exclusions that were ignored because the query has no wanted words. `cut` is
    true if the query was too long and only its first words count.
    """

    whole: Clause | None = None
    dropped: tuple[Term, ...] = ()
    cut: bool = False

    def __bool__(self) -> bool:
        return self.whole is not None

    @property
    def expression(self) -> str:
        """The query in the syntax of FTS5, SQLite's full-text search."""
        return str(self.whole or "")

    @property
    def terms(self) -> list[Term]:
        return list(self.whole.terms()) if self.whole else []

    @property
    def signs(self) -> tuple[str, ...]:
        """The patterns of all terms with signs, such as `c++`; empty if the query contains OR."""
        if self.whole is None or self.whole.has_choice:
            return ()
        return tuple(term.sign for term in self.terms if term.sign)

    def is_in(self, text: str) -> bool:
        """Return whether a text that contains the words also contains their signs, as in `c++`.

        The full-text index ignores signs, so its results must be checked again.
        """
        whole = folded(bare(text))
        return all(re.search(sign, whole) for sign in self.signs)


class Snippet(NamedTuple):
    """An excerpt of a text on one line. `spans` has the start and end of each found word in it."""

    text: str
    spans: list[tuple[int, int]]


def parse(text: str) -> Query:
    """Parse a search query as a user typed it. Without any words, the result is an empty query."""
    plain = _plain(text[:_LONGEST])
    reading = _Reading(_items(plain))
    whole = reading.either()
    if isinstance(whole, Term):
        whole = Clause((whole,))
    cut = len(text) > _LONGEST or any(islice(_ITEM.finditer(plain), _MOST, None))
    return Query(whole, tuple(reading.dropped), cut)


def _plain(text: str) -> str:
    """Return text with straight quotation marks and without lone surrogates."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isascii() else text.translate(_QUOTES)


def _items(text: str) -> list[str | Term | Clause]:
    """Split a query into its words and phrases, and its operators: AND, OR, NOT, ( and )."""
    found: list[str | Term | Clause] = []
    depth = 0
    for _, item in zip(range(_MOST), _ITEM.finditer(text), strict=False):
        if item["minus"]:
            found.append("NOT")
        word = item["word"] or ""
        ends = 0
        while ends < depth and word.endswith(")") and word.count(")") > word.count("("):
            word, ends = word[:-1], ends + 1
        if item["open"]:
            found.append("(")
            depth += 1
        elif word in _SAID:
            found.append(_SAID[word])
        elif part := _part(item["quoted"], word):
            found.append(part)
        elif item["minus"]:
            found.pop()
        found += [")"] * ends
        depth -= ends
    return found


def _part(quoted: str | None, word: str) -> Term | Clause | None:
    """Return the term of a quoted phrase or a word. A word with `|` becomes alternatives.

    Return None if there are no letters or digits.
    """
    if quoted is not None:
        return _term(quoted)
    terms = tuple(term for each in word.split("|") if (term := _term(each)))
    return Clause(terms, either=True) if len(terms) > 1 else terms[0] if terms else None


def _term(text: str) -> Term | None:
    # SQLite ends a query at a NUL. In a text, NUL separates words like any other sign.
    raw = spaced(text.replace('"', " ").replace("\0", " "))
    tokens = tuple(re.findall(f"{_letter(raw)}+", folded(raw)))
    return Term(tokens, text.endswith("*"), raw, _sign(text)) if tokens else None


def _letter(text: str) -> str:
    """Return the regular expression of a letter; for ASCII text, it is a faster one."""
    return _LETTER if text.isascii() else f"(?:{_LETTER}|{_SIGN})"


def _sign(text: str) -> str:
    typed = folded(bare(text.strip().rstrip(_LAST)))
    return r"\s+".join(map(re.escape, typed.split())) if _SIGNS.search(typed) else ""


class _Reading:
    """A recursive parser of a query's words and operators.

    `dropped` contains exclusions that were ignored, because nothing else was searched for.
    """

    def __init__(self, items: Sequence[str | Term | Clause]) -> None:
        self._items, self._at = items, 0
        self.dropped: list[Term] = []

    def either(self) -> Term | Clause | None:
        parts = [self._all()]
        while self._next() == "OR":
            self._at += 1
            parts.append(self._all())
        found = tuple(part for part in parts if part)
        return Clause(found, either=True) if len(found) > 1 else found[0] if found else None

    def _all(self) -> Term | Clause | None:
        parts: tuple[list[Term | Clause], list[Term | Clause]] = ([], [])
        negated = False
        while (item := self._next()) not in (None, "OR", ")"):
            self._at += 1
            if item == "NOT":
                negated = not negated
                continue
            if item == "(":
                item = self.either()
                self._at += 1
            if item and not isinstance(item, str):
                parts[negated].append(item)
                negated = False
        return self._made(*parts)

    def _made(
        self, wanted: list[Term | Clause], unwanted: list[Term | Clause]
    ) -> Term | Clause | None:
        if not wanted:
            for part in unwanted:
                self.dropped += (part,) if isinstance(part, Term) else part.terms()
            return None
        return wanted[0] if len(wanted) == 1 and not unwanted else Clause((*wanted,), (*unwanted,))

    def _next(self) -> str | Term | Clause | None:
        return self._items[self._at] if self._at < len(self._items) else None


class _Folded:
    """A text in lower case and without accents, in which terms are searched.

    The positions that `find` yields are positions in the original text.
    """

    def __init__(self, text: str, terms: tuple[Term, ...]) -> None:
        self.text = folded(text)
        self._begins: list[int] = []
        self._pieces: list[tuple[int, int]] = []
        if text.isascii() or not special().search(text):
            return
        whole = bare(self.text)
        has_one = any(all(token in whole for token in term.tokens) for term in terms)
        self.text = self._taken_apart() if has_one else ""

    def _taken_apart(self) -> str:
        """Return the text without separate accents, and record the original positions.

        Characters that are words on their own, as in Chinese, get spaces around them.
        """
        text, at, size = self.text, 0, 0
        parts: list[str] = []
        for found in special().finditer(text):
            start, end = found.span()
            is_odd = odd().match(found[0])
            part = spelled(found[0]) if is_odd else f" {' '.join(found[0])} "
            for new, was, step in ((text[at:start], at, 1), (part, start, 0 if is_odd else 2)):
                self._begins.append(size)
                self._pieces.append((was, step))
                parts.append(new)
                size += len(new)
            at = end
        self._begins.append(size)
        self._pieces.append((at, 1))
        return "".join((*parts, text[at:]))

    def _place(self, at: int) -> int:
        """Convert a position in the folded text to a position in the original text."""
        number = bisect_right(self._begins, at) - 1
        was, step = self._pieces[number]
        offset = at - self._begins[number]
        return was + (max(offset - 1, 0) // 2 if step == 2 else offset * step)

    def find(self, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence of a term.

        If two occurrences overlap, only the first one is yielded.
        """
        spans = _spans(self.text, *terms) if len(terms) == 1 else _in_order(self.text, terms)
        return map(self._places_of, spans) if self._pieces else spans

    def _places_of(self, span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        # An accent after the last character belongs to that character.
        return self._place(start), max(self._place(end - 1) + 1, self._place(end))


def find(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the start and end of each occurrence of the terms in a text, in order."""
    return list(_places(text, tuple(terms))) if terms else []


def _places(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each occurrence of the terms, in order.

    A long text is searched in pieces, so that the first results come early.
    """
    for start, end, piece in _pieces(text, terms):
        for first, last in piece.find(terms):
            if start + first < end:
                yield start + first, start + last


def _pieces(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int, _Folded]]:
    """Split a long text into pieces. Yield the start, the end and the folded text of each piece.

    The folded text also contains the beginning of the next piece, for terms that cross the border.
    """
    start = 0
    while start < len(text):
        end = len(text)
        if end > start + _PIECE:
            spaces = [text.rfind(space, start + 1, start + _PIECE) for space in " \n"]
            end = max(spaces) if max(spaces) > start else start + _PIECE
        yield start, end, _Folded(text[start : end + _BEYOND], terms)
        start = end


def _starts(text: str, terms: tuple[Term, ...]) -> list[list[int]]:
    """Return the positions of the first occurrences of each term, one list for each term."""
    found: list[list[int]] = [[] for _ in terms]
    for start, end, piece in _pieces(text, terms):
        for places, term in zip(found, terms, strict=True):
            if len(places) < _OFTEN:
                there = [start + at for at, _ in islice(piece.find((term,)), _OFTEN)]
                places += [at for at in there if at < end]
        if all(len(places) >= _OFTEN for places in found):
            break
    return [places[:_OFTEN] for places in found]


def _in_order(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    spans = [(at, n, end) for n, term in enumerate(terms) for at, end in _spans(text, term)]
    last = 0
    for start, _, end in sorted(spans):
        if start >= last:
            yield start, end
            last = end


def _spans(text: str, term: Term) -> Iterator[tuple[int, int]]:
    token = term.tokens[0]
    if len(term.tokens) == 1 and token.isascii():
        return _words(text, token, is_prefix=term.is_prefix)
    return map(re.Match[str].span, _compiled(term).finditer(text))


def _words(text: str, word: str, *, is_prefix: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each occurrence of an ASCII word in a folded text.

    If `is_prefix` is true, the word may be the beginning of a longer word. For short texts, this
    function is faster than a regular expression.
    """
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        is_whole = is_prefix or not text[end : end + 1].isalnum()
        if is_whole and not text[at - 1 : at].isalnum():
            yield at, end
        else:
            end = at + 1
        at = text.find(word, end)


@lru_cache(64)
def _compiled(term: Term) -> re.Pattern[str]:
    return re.compile(term.pattern)


def _best(text: str, terms: Sequence[Term]) -> int:
    """Return the position of the first term in the best snippet; 0 if the text has no term.

    The best snippet shows the most different terms, and among these the terms that are rare.
    """
    terms = tuple(dict.fromkeys(terms))
    if len(terms) < 2:
        signed = _with_sign(text, terms[0]) if terms else 0
        return signed or next((start for start, _ in _places(text, terms)), 0)
    starts = _starts(text, terms)
    ordered = sorted((at, term) for term, found in enumerate(starts) for at in found)
    best, first, chosen, last = (0, 0.0), 0, 0, 0
    shown = [0] * len(terms)
    for at, term in ordered:
        if best[0] == len(terms) and at >= first + _SEEN:
            break  # no other snippet shows more
        while last < len(ordered) and ordered[last][0] < at + _SEEN:
            shown[ordered[last][1]] += 1
            last += 1
        have = [n for n, count in enumerate(shown) if count]
        value = len(have), sum(1 / len(starts[n]) for n in have)
        if value > best:
            best, first, chosen = value, at, at
        elif value == best and len(have) > 1 and at < first + _SEEN:
            chosen = at  # closer to the other terms
        shown[term] -= 1
    return chosen


def _with_sign(text: str, term: Term) -> int:
    """Return the first position of a term together with its signs, as in `.net`, or 0.

    Only ASCII texts are searched. In other texts, folding may change the positions.
    """
    if not term.sign or not text.isascii():
        return 0
    signed = [m.span() for m in islice(re.finditer(term.sign, folded(text)), _OFTEN)]
    places = islice(_places(text, (term,)), _OFTEN) if signed else ()
    # The signs may occur in another word, as `.net` does in `foo.network`.
    both = (a for start, end in places for a, b in signed if a <= start and end <= b)
    return next(both, 0)


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """Return the excerpt of a text that shows the most terms of a query.

    If the text contains no term, the excerpt is its beginning.
    """
    at = _best(text, terms)
    # Take more than needed on both sides, because joining lines removes white space.
    start = max(at - 4 * _BEFORE, 0)
    before = " ".join(text[start:at].split())
    before = before[-_BEFORE:] + (" " if text[at - 1 : at].isspace() and before else "")
    after = " ".join(text[at : at + 8 * _AROUND].split())[:_AROUND]
    left = "…" if start or len(before) >= _BEFORE else ""
    right = "…" if len(text) > at + len(after) + 8 else ""
    piece = f"{left}{before}{after}{right}"
    spans = find(piece, terms)
    if terms and after and not spans and next(_places(text, tuple(terms)), None):
        # The term is longer than the snippet, so the whole snippet is part of it.
        spans = [(len(left) + len(before), len(piece) - len(right))]
    return Snippet(piece, spans)
