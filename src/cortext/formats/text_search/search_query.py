"""A parser of search queries for the full-text index, and snippets of the texts found.

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

import msgspec

from cortext.formats.text_search.text_folding import (
    ALIKE,
    bare,
    is_one_character_word,
    odd,
    replace_odd_character,
    special,
)
from cortext.formats.text_search.text_folding import folded as folded
from cortext.formats.text_search.text_folding import spaced as spaced

LONGEST_QUERY = 2000
"""The maximum length of a query in characters. Further characters are ignored."""
_MOST = 40
_ITEM = re.compile(
    r'(?P<minus>(?<![^\s(])-(?=[\w"(]))?(?:"(?P<quoted>[^"]*)"?|(?P<open>\()|(?P<word>\S+))'
)
_OPERATORS = {"AND": "AND", "OR": "OR", "NOT": "NOT", "|": "OR", "||": "OR"}
_LETTER = r"[^\W_]"
_SIGN = r"[\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0971-\u0df3]"
"""Vowel signs of Hebrew, Arabic and Indic scripts, which Python does not count as letters."""
_QUOTES = str.maketrans({sign: plain for sign, plain in ALIKE.items() if plain == '"'})
_SIGNS = re.compile(r"[^\w\s]|_")
_LAST = ".,;:!?*"
"""Punctuation at the end of a word, which is not part of the query."""
_BEFORE, _AROUND = 60, 200
"""The lengths of a snippet before its first found word and from this word on, in characters."""
_MOST_OCCURRENCES = 100
"""The largest number of occurrences of a term that are examined in one text."""
_CHUNK, _OVERLAP = 1 << 15, 500
"""The lengths of a chunk of text and of its overlap with the next chunk, in characters.

The overlap finds terms that cross the border of two chunks.
"""
_SHOWN_LENGTH = 120
"""The number of characters after a snippet's first word in which other words count as shown."""


class Term(msgspec.Struct, frozen=True):
    """A word or phrase of a query.

    - `tokens`: the words of the term in order, in lower case and without accents
    - `is_prefix`: whether the last token may be the beginning of a longer word
    - `raw`: the text for the full-text index, which splits it into tokens itself
    - `sign`: for a term with signs that are not part of a token, such as `c++`, a regular
      expression that finds the term with its signs; otherwise ""
    - `is_quoted`: whether the user typed the term in quotes
    """

    tokens: tuple[str, ...]
    is_prefix: bool = False
    raw: str = ""
    sign: str = ""
    is_quoted: bool = False

    def __str__(self) -> str:
        return f'"{self.raw or " ".join(self.tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def pattern(self) -> str:
        """The regular expression that finds the term in a folded text (lower case, no accents).

        The text must have spaces around characters that are words on their own, as in Chinese.
        """
        first, *rest = map(re.escape, self.tokens)
        if not is_one_character_word(self.tokens[0]):
            # The lookbehind comes after the letters, because a literal at the start is fast.
            first += f"(?<!{_letter(first)}{first})"
        alone = self.is_prefix or is_one_character_word(self.tokens[-1])
        return r"[\W_]*".join((first, *rest)) + ("" if alone else f"(?!{_letter(self.tokens[-1])})")


class Clause(msgspec.Struct, frozen=True):
    """A condition of a query that combines terms and other clauses.

    A text fulfils the condition if it contains all parts of `wanted`, and no part of `unwanted`. If
    `either` is true, one part of `wanted` is enough.
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
        """Yield all terms (words and phrases) that a text should contain.

        Terms of nested clauses are included. Excluded terms are left out.
        """
        for part in self.wanted:
            yield from (part,) if isinstance(part, Term) else part.terms()


class Query(msgspec.Struct, frozen=True):
    """A parsed query.

    - `whole`: the condition for a text, or None if there is no word to search for
    - `dropped`: excluded terms that are ignored, because their part of the query has only
      excluded terms
    - `cut`: whether the query was too long, so that only its first words count
    - `has_operators`: whether the user typed AND, OR, `|`, NOT, a minus or parentheses
    - `text`: the query as typed
    """

    whole: Clause | None = None
    dropped: tuple[Term, ...] = ()
    cut: bool = False
    has_operators: bool = False
    text: str = ""

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
    def required(self) -> Clause | None:
        """The condition that a conversation must fulfil, or None if there is no condition.

        If the query has operators, the condition is the whole query. Otherwise, if the query has
        quoted terms, the condition is that all of them occur.
        """
        if self.has_operators:
            return self.whole
        quoted = tuple(term for term in self.terms if term.is_quoted)
        return Clause(quoted) if quoted else None

    @property
    def signs(self) -> tuple[str, ...]:
        """The regular expressions for all terms with signs, such as `c++`.

        The result is empty if the query contains OR or `|`.
        """
        if self.whole is None or self.whole.has_choice:
            return ()
        return tuple(term.sign for term in self.terms if term.sign)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains every term with signs, such as `c++`, including its signs.

        The full-text index ignores signs and finds `c` instead, so each text that it finds must be
        checked. The result is True if `signs` is empty.
        """
        whole = folded(bare(text))
        return all(re.search(sign, whole) for sign in self.signs)


class Snippet(msgspec.Struct, frozen=True):
    """An excerpt of a text, on one line.

    `spans` has the start and end of each found word in the excerpt.
    """

    text: str
    spans: list[tuple[int, int]]


def parse(text: str) -> Query:
    """Parse a search query as a user typed it.

    Every text is valid. If the text has no words, the result is an empty query.
    """
    plain = _plain(text[:LONGEST_QUERY])
    items = _items(plain)
    parser = _QueryParser(items)
    whole = parser.parse_alternatives()
    if isinstance(whole, Term):
        whole = Clause((whole,))
    cut = len(text) > LONGEST_QUERY or any(islice(_ITEM.finditer(plain), _MOST, None))
    has_operators = any(not isinstance(item, Term) for item in items)
    return Query(whole, tuple(parser.dropped), cut, has_operators, plain)


def _plain(text: str) -> str:
    """Return text with straight quotation marks and without lone surrogates."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isascii() else text.translate(_QUOTES)


def _items(text: str) -> list[str | Term | Clause]:
    """Split a query into terms (words and phrases) and operators: AND, OR, NOT, ( and ).

    An operator is a string in the result. A word that contains `|` becomes a clause.
    """
    items: list[str | Term | Clause] = []
    depth = 0
    for _, item in zip(range(_MOST), _ITEM.finditer(text), strict=False):
        if item["minus"]:
            items.append("NOT")
        word = item["word"] or ""
        ends = 0
        while ends < depth and word.endswith(")") and word.count(")") > word.count("("):
            word, ends = word[:-1], ends + 1
        if item["open"]:
            items.append("(")
            depth += 1
        elif word in _OPERATORS:
            items.append(_OPERATORS[word])
        elif part := _part(item["quoted"], word, is_open=item[0][-1:].isalnum()):
            items.append(part)
        elif item["minus"]:
            items.pop()
        items += [")"] * ends
        depth -= ends
    return items


def _part(quoted: str | None, word: str, *, is_open: bool) -> Term | Clause | None:
    """Convert a quoted phrase, or a word if `quoted` is None, to a search term.

    If `is_open` is true, the closing quotation mark is missing. The user may still be typing, so
    the last word of the phrase may be the beginning of a word.

    A word such as `a|b` becomes a clause with alternatives. The result is None for a text without
    letters and digits.
    """
    if quoted is not None:
        term = _term(quoted)
        if term is None:
            return None
        is_prefix = term.is_prefix or is_open
        return msgspec.structs.replace(term, is_quoted=True, is_prefix=is_prefix)
    terms = tuple(term for each in word.split("|") if (term := _term(each)))
    return Clause(terms, either=True) if len(terms) > 1 else terms[0] if terms else None


def _term(text: str) -> Term | None:
    # SQLite ends a query at a NUL. In a text, NUL separates words like any other sign.
    raw = spaced(text.replace('"', " ").replace("\0", " "))
    tokens = tuple(tokens_of(raw))
    return Term(tokens, text.endswith("*"), raw, _sign(text)) if tokens else None


def tokens_of(text: str) -> list[str]:
    """Return the words of a text in lower case and without accents."""
    return re.findall(f"{_letter(text)}+", folded(text))


def _letter(text: str) -> str:
    """Return a regular expression that matches one letter or digit.

    Unless `text` is ASCII, the expression also matches vowel signs, and is slower.
    """
    return _LETTER if text.isascii() else f"(?:{_LETTER}|{_SIGN})"


def _sign(text: str) -> str:
    typed = folded(bare(text.strip().rstrip(_LAST)))
    return r"\s+".join(map(re.escape, typed.split())) if _SIGNS.search(typed) else ""


class _QueryParser:
    """A recursive parser for the terms and operators of a query.

    `dropped` has the excluded terms that are ignored. An excluded term is ignored if its part of
    the query only excludes terms, as in the query `-foo`.
    """

    def __init__(self, items: Sequence[str | Term | Clause]) -> None:
        self._items, self._at = items, 0
        self.dropped: list[Term] = []

    def parse_alternatives(self) -> Term | Clause | None:
        parts = [self._parse_clause()]
        while self._peek() == "OR":
            self._at += 1
            parts.append(self._parse_clause())
        present = tuple(part for part in parts if part)
        return Clause(present, either=True) if len(present) > 1 else present[0] if present else None

    def _parse_clause(self) -> Term | Clause | None:
        parts: tuple[list[Term | Clause], list[Term | Clause]] = ([], [])
        negated = False
        while (item := self._peek()) not in (None, "OR", ")"):
            self._at += 1
            if item == "NOT":
                negated = not negated
                continue
            if item == "(":
                item = self.parse_alternatives()
                self._at += 1
            if item and not isinstance(item, str):
                parts[negated].append(item)
                negated = False
        return self._build_clause(*parts)

    def _build_clause(
        self, wanted: list[Term | Clause], unwanted: list[Term | Clause]
    ) -> Term | Clause | None:
        if not wanted:
            for part in unwanted:
                self.dropped += (part,) if isinstance(part, Term) else part.terms()
            return None
        return wanted[0] if len(wanted) == 1 and not unwanted else Clause((*wanted,), (*unwanted,))

    def _peek(self) -> str | Term | Clause | None:
        return self._items[self._at] if self._at < len(self._items) else None


class _FoldedText:
    """A text in lower case and without accents. The method `find` searches it for terms.

    The results of `find` are positions in the original text. `terms` are all terms for which the
    caller will search. A search for any other term may find nothing.
    """

    def __init__(self, text: str, terms: tuple[Term, ...]) -> None:
        self.text = folded(text)
        self._begins: list[int] = []
        self._pieces: list[tuple[int, int]] = []
        if text.isascii() or not special().search(text):
            return
        whole = bare(self.text)
        has_one = any(all(token in whole for token in term.tokens) for term in terms)
        self.text = self._normalize() if has_one else ""

    def _normalize(self) -> str:
        """Return the text in the form in which words are searched.

        Combining accents and vowel signs are removed. Ligatures and full-width characters are
        replaced by ordinary letters, such as "fi" for a ligature. Characters that are words on
        their own, as in Chinese, get spaces around them. The method records the original position
        of each part.
        """
        text, at, size = self.text, 0, 0
        parts: list[str] = []
        for match in special().finditer(text):
            start, end = match.span()
            is_odd = odd().match(match[0])
            part = replace_odd_character(match[0]) if is_odd else f" {' '.join(match[0])} "
            for new, original, step in ((text[at:start], at, 1), (part, start, 0 if is_odd else 2)):
                self._begins.append(size)
                self._pieces.append((original, step))
                parts.append(new)
                size += len(new)
            at = end
        self._begins.append(size)
        self._pieces.append((at, 1))
        return "".join((*parts, text[at:]))

    def _original_position(self, at: int) -> int:
        """Convert a position in the folded text to a position in the original text."""
        number = bisect_right(self._begins, at) - 1
        original, step = self._pieces[number]
        offset = at - self._begins[number]
        return original + (max(offset - 1, 0) // 2 if step == 2 else offset * step)

    def find(self, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each occurrence of the terms in the original text.

        If two occurrences overlap, only the first occurrence is yielded.
        """
        spans = _spans(self.text, *terms) if len(terms) == 1 else _spans_in_order(self.text, terms)
        return map(self._original_span, spans) if self._pieces else spans

    def _original_span(self, span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        # An accent after the last character belongs to that character.
        return self._original_position(start), max(
            self._original_position(end - 1) + 1, self._original_position(end)
        )


def find(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the start and end of each occurrence of the terms in a text, in order."""
    return list(_occurrences(text, tuple(terms))) if terms else []


def _occurrences(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each occurrence of the terms, in order.

    A long text is searched in chunks, so that the first results come early.
    """
    for start, end, chunk in _chunks(text, terms):
        for first, last in chunk.find(terms):
            if start + first < end:
                yield start + first, start + last


def _chunks(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int, _FoldedText]]:
    """Split a text into chunks, and yield the start, the end and the folded text of each chunk.

    A folded text is in lower case, without accents. It is a bit longer than its chunk, so that
    terms that cross the end of the chunk are found. `terms` are the terms to search for.
    """
    start = 0
    while start < len(text):
        end = len(text)
        if end > start + _CHUNK:
            spaces = [text.rfind(space, start + 1, start + _CHUNK) for space in " \n"]
            end = max(spaces) if max(spaces) > start else start + _CHUNK
        yield start, end, _FoldedText(text[start : end + _OVERLAP], terms)
        start = end


def _first_occurrences(text: str, terms: tuple[Term, ...]) -> list[list[int]]:
    """Return one list for each term: the positions of its first occurrences in the text.

    A list has at most 100 positions.
    """
    positions: list[list[int]] = [[] for _ in terms]
    for start, end, chunk in _chunks(text, terms):
        for term_positions, term in zip(positions, terms, strict=True):
            if len(term_positions) < _MOST_OCCURRENCES:
                chunk_positions = [
                    start + at for at, _ in islice(chunk.find((term,)), _MOST_OCCURRENCES)
                ]
                term_positions += [at for at in chunk_positions if at < end]
        if all(len(term_positions) >= _MOST_OCCURRENCES for term_positions in positions):
            break
    return [term_positions[:_MOST_OCCURRENCES] for term_positions in positions]


def _spans_in_order(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
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


def _best_position(text: str, terms: Sequence[Term]) -> int:
    """Return the position of the first term in the best snippet of a text.

    The best snippet shows the most different terms. If two snippets show the same number of terms,
    the snippet with the rarer terms is better. The result is 0 if the text contains no term.
    """
    terms = tuple(dict.fromkeys(terms))
    if len(terms) < 2:
        signed = _find_with_sign(text, terms[0]) if terms else 0
        return signed or next((start for start, _ in _occurrences(text, terms)), 0)
    starts = _first_occurrences(text, terms)
    ordered = sorted((at, term) for term, found in enumerate(starts) for at in found)
    best, first, chosen, last = (0, 0.0), 0, 0, 0
    shown = [0] * len(terms)
    for at, term in ordered:
        if best[0] == len(terms) and at >= first + _SHOWN_LENGTH:
            break  # no other snippet shows more
        while last < len(ordered) and ordered[last][0] < at + _SHOWN_LENGTH:
            shown[ordered[last][1]] += 1
            last += 1
        shown_terms = [n for n, count in enumerate(shown) if count]
        value = len(shown_terms), sum(1 / len(starts[n]) for n in shown_terms)
        if value > best:
            best, first, chosen = value, at, at
        elif value == best and len(shown_terms) > 1 and at < first + _SHOWN_LENGTH:
            chosen = at  # closer to the other terms
        shown[term] -= 1
    return chosen


def _find_with_sign(text: str, term: Term) -> int:
    """Return the first position of a term together with its signs, as in `.net`.

    The result is 0 if the text does not contain the term with its signs. It is also 0 if the text
    is not ASCII, because folding (removing case and accents) may change positions in such a text.
    """
    if not term.sign or not text.isascii():
        return 0
    signed = [m.span() for m in islice(re.finditer(term.sign, folded(text)), _MOST_OCCURRENCES)]
    words = islice(_occurrences(text, (term,)), _MOST_OCCURRENCES) if signed else ()
    # The signs may occur in another word, as `.net` does in `foo.network`.
    both = (a for start, end in words for a, b in signed if a <= start and end <= b)
    return next(both, 0)


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """Return the excerpt of a text that shows the most terms of a query.

    If the text contains no term, the excerpt is its beginning.
    """
    cut = excerpt_at(text, _best_position(text, terms))
    spans = find(cut.text, terms)
    if terms and cut.after and not spans and next(_occurrences(text, tuple(terms)), None):
        # The term is longer than the snippet, so the whole snippet is part of it.
        spans = [(len(cut.left) + len(cut.before), len(cut.text) - len(cut.right))]
    return Snippet(cut.text, spans)


class Excerpt(msgspec.Struct, frozen=True):
    """A part of a text around a position, on one line.

    `before` and `after` are the text before and after the position. `left` and `right` are "…" if
    there is more text on that side.
    """

    left: str
    before: str
    after: str
    right: str

    @property
    def text(self) -> str:
        return f"{self.left}{self.before}{self.after}{self.right}"


def excerpt_at(text: str, at: int) -> Excerpt:
    """Return the excerpt of a text around the position `at`."""
    # Take more than needed on both sides, because joining lines removes white space.
    start = max(at - 4 * _BEFORE, 0)
    before = " ".join(text[start:at].split())
    before = before[-_BEFORE:] + (" " if text[at - 1 : at].isspace() and before else "")
    after = " ".join(text[at : at + 8 * _AROUND].split())[:_AROUND]
    left = "…" if start or len(before) >= _BEFORE else ""
    right = "…" if len(text) > at + len(after) + 8 else ""
    return Excerpt(left, before, after, right)
