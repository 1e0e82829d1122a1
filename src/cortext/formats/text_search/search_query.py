"""What a person types into a search box, as a question for the full-text index; and where in a text
the answer stands.

Nothing that is typed is an error. Words are found in any order, in any case, with or without their
accents; what stands between quotes, or is held together by signs (`foo-bar`, `a/b.py`), in this
order. `AND`, `OR` (or `|`) and `NOT` in capitals mean that, and parentheses hold together; a minus
before a word excludes it; a `*` at the end of a word is for any ending. In scripts that are written
without spaces every character counts as a word.
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
"""Vowel signs of Hebrew, of Arabic and of the scripts of India, which are no letters to Python."""
_QUOTES = str.maketrans({sign: plain for sign, plain in ALIKE.items() if plain == '"'})
_SIGNS = re.compile(r"[^\w\s]|_")
_LAST = ".,;:!?*"
"""What stands at the end of words for other reasons than to be found."""
_BEFORE, _AROUND = 60, 200
_OFTEN = 100
"""Places of a term in one text that are looked at."""
_PIECE, _BEYOND = 1 << 15, 500
"""Characters of a text that are looked at together, and of what comes after them."""
_SEEN = 120
"""Characters after the first word of a piece in which others count as shown beside it."""


class Term(NamedTuple):
    """Tokens that stand one after the other, `folded`; the last may be only the beginning of one.
    `raw` is what was typed: the index takes it apart as it did the texts. `sign` is what of it no
    word says, like `c++`: a pattern for a `folded` text."""

    tokens: tuple[str, ...]
    is_prefix: bool = False
    raw: str = ""
    sign: str = ""

    def __str__(self) -> str:
        return f'"{self.raw or " ".join(self.tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def pattern(self) -> str:
        """As it stands in a text that is `folded`, with spaces around what is a word by itself."""
        first, *rest = map(re.escape, self.tokens)
        if not is_alone(self.tokens[0]):
            # Looking back after the letters, not before them: what begins with letters is fast.
            first += f"(?<!{_letter(first)}{first})"
        alone = self.is_prefix or is_alone(self.tokens[-1])
        return r"[\W_]*".join((first, *rest)) + ("" if alone else f"(?!{_letter(self.tokens[-1])})")


class Clause(NamedTuple):
    """All that is `wanted`, or with `either` one of it, and nothing that is not."""

    wanted: tuple[Term | Clause, ...]
    unwanted: tuple[Term | Clause, ...] = ()
    either: bool = False

    def __str__(self) -> str:
        """As FTS5 takes it."""
        wanted = (" OR " if self.either else " AND ").join(f"({part})" for part in self.wanted)
        return f"({wanted})" + "".join(f" NOT ({part})" for part in self.unwanted)

    @property
    def has_choice(self) -> bool:
        return self.either or any(isinstance(p, Clause) and p.has_choice for p in self.wanted)

    def terms(self) -> Iterator[Term]:
        """Those that are wanted."""
        for part in self.wanted:
            yield from (part,) if isinstance(part, Term) else part.terms()


class Query(NamedTuple):
    """What is looked for; `dropped` is what was to be excluded from nothing: there is no list of
    all texts to take it from. Of a very long one only the first words count: it is `cut`."""

    whole: Clause | None = None
    dropped: tuple[Term, ...] = ()
    cut: bool = False

    def __bool__(self) -> bool:
        return self.whole is not None

    @property
    def expression(self) -> str:
        """As FTS5 takes it."""
        return str(self.whole or "")

    @property
    def terms(self) -> list[Term]:
        return list(self.whole.terms()) if self.whole else []

    @property
    def signs(self) -> tuple[str, ...]:
        """Patterns of those that all are wanted: of alternatives, each has its own."""
        if self.whole is None or self.whole.has_choice:
            return ()
        return tuple(term.sign for term in self.terms if term.sign)

    def is_in(self, text: str) -> bool:
        """Whether a text that has the words has their signs too."""
        whole = folded(bare(text))
        return all(re.search(sign, whole) for sign in self.signs)


class Snippet(NamedTuple):
    """A piece of a text, on one line, and where in it the words stand."""

    text: str
    spans: list[tuple[int, int]]


def parse(text: str) -> Query:
    """The question that a text is; an empty one if there is no word to look for."""
    plain = _plain(text[:_LONGEST])
    reading = _Reading(_items(plain))
    whole = reading.either()
    if isinstance(whole, Term):
        whole = Clause((whole,))
    cut = len(text) > _LONGEST or any(islice(_ITEM.finditer(plain), _MOST, None))
    return Query(whole, tuple(reading.dropped), cut)


def _plain(text: str) -> str:
    """Only with characters that an index can have, and with the quotes of a keyboard."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isascii() else text.translate(_QUOTES)


def _items(text: str) -> list[str | Term | Clause]:
    """The words, and what is said of them: AND, OR, NOT, ( and )."""
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
    """A word or a phrase; alternatives where a word has `|` in it."""
    if quoted is not None:
        return _term(quoted)
    terms = tuple(term for each in word.split("|") if (term := _term(each)))
    return Clause(terms, either=True) if len(terms) > 1 else terms[0] if terms else None


def _term(text: str) -> Term | None:
    # SQLite ends a query at a NUL; in a text it separates words, as any sign does.
    raw = spaced(text.replace('"', " ").replace("\0", " "))
    tokens = tuple(re.findall(f"{_letter(raw)}+", folded(raw)))
    return Term(tokens, text.endswith("*"), raw, _sign(text)) if tokens else None


def _letter(text: str) -> str:
    """What a word of a text goes on with; in plain ASCII, what takes least time."""
    return _LETTER if text.isascii() else f"(?:{_LETTER}|{_SIGN})"


def _sign(text: str) -> str:
    typed = folded(bare(text.strip().rstrip(_LAST)))
    return r"\s+".join(map(re.escape, typed.split())) if _SIGNS.search(typed) else ""


class _Reading:
    """Items, read from the left: alternatives, of which each is all of its parts."""

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
    """A text as the patterns of terms are looked for in it, and where each character of that
    stands: in pieces, of which it is known where each begins, in the one text and in the other."""

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
        """Without what is odd, which stands in the middle of words, and with spaces around what is
        a word by itself: it ends the word before it."""
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
        """Where a character stands in the text as it was."""
        number = bisect_right(self._begins, at) - 1
        was, step = self._pieces[number]
        offset = at - self._begins[number]
        return was + (max(offset - 1, 0) // 2 if step == 2 else offset * step)

    def find(self, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
        """Where terms stand that do not overlap; of two, the one that begins first."""
        spans = _spans(self.text, *terms) if len(terms) == 1 else _in_order(self.text, terms)
        return map(self._places_of, spans) if self._pieces else spans

    def _places_of(self, span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        # An accent after the last character is its own.
        return self._place(start), max(self._place(end - 1) + 1, self._place(end))


def find(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms stand in a text, in order."""
    return list(_places(text, tuple(terms))) if terms else []


def _places(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    """As `find`, a piece of the text at a time: who needs few of them does not wait for all."""
    for start, end, piece in _pieces(text, terms):
        for first, last in piece.find(terms):
            if start + first < end:
                yield start + first, start + last


def _pieces(text: str, terms: tuple[Term, ...]) -> Iterator[tuple[int, int, _Folded]]:
    """Where each piece of a text begins and ends, and what terms are looked for in: a bit more."""
    start = 0
    while start < len(text):
        end = len(text)
        if end > start + _PIECE:
            spaces = [text.rfind(space, start + 1, start + _PIECE) for space in " \n"]
            end = max(spaces) if max(spaces) > start else start + _PIECE
        yield start, end, _Folded(text[start : end + _BEYOND], terms)
        start = end


def _starts(text: str, terms: tuple[Term, ...]) -> list[list[int]]:
    """Where each of the terms stands, the first few times."""
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
    """Where a plain word stands. To compile a pattern takes longer than to look through a page of
    short texts."""
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
    """Where the piece begins that shows most of the terms, and rather those that the text has
    seldom; 0 if there are none."""
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
            break  # none shows more
        while last < len(ordered) and ordered[last][0] < at + _SEEN:
            shown[ordered[last][1]] += 1
            last += 1
        have = [n for n, count in enumerate(shown) if count]
        value = len(have), sum(1 / len(starts[n]) for n in have)
        if value > best:
            best, first, chosen = value, at, at
        elif value == best and len(have) > 1 and at < first + _SEEN:
            chosen = at  # nearer to the others
        shown[term] -= 1
    return chosen


def _with_sign(text: str, term: Term) -> int:
    """Where it stands with the signs that were typed, as `.net` does and not `net`; 0 if that is
    not known: of other than plain ASCII, places are not those of the text."""
    if not term.sign or not text.isascii():
        return 0
    signed = [m.span() for m in islice(re.finditer(term.sign, folded(text)), _OFTEN)]
    places = islice(_places(text, (term,)), _OFTEN) if signed else ()
    # Signs may stand in another word, as those of `.net` in `foo.network`.
    both = (a for start, end in places for a, b in signed if a <= start and end <= b)
    return next(both, 0)


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """The piece of a text that shows most of the terms, or its beginning."""
    at = _best(text, terms)
    # Enough on both sides that what remains of it on one line is long enough.
    start = max(at - 4 * _BEFORE, 0)
    before = " ".join(text[start:at].split())
    before = before[-_BEFORE:] + (" " if text[at - 1 : at].isspace() and before else "")
    after = " ".join(text[at : at + 8 * _AROUND].split())[:_AROUND]
    left = "…" if start or len(before) >= _BEFORE else ""
    right = "…" if len(text) > at + len(after) + 8 else ""
    piece = f"{left}{before}{after}{right}"
    spans = find(piece, terms)
    if terms and after and not spans and next(_places(text, tuple(terms)), None):
        # What is longer than a piece may be stands in all of it.
        spans = [(len(left) + len(before), len(piece) - len(right))]
    return Snippet(piece, spans)
