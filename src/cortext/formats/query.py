"""What a person types into a search box, as a question for the full-text index; and where in a text
the answer stands.

Nothing that is typed is an error. Words are found in any order, in any case, with or without their
accents; what stands between quotes, or is held together by signs (`foo-bar`, `a/b.py`), in this
order. `AND`, `OR` and `NOT` in capitals mean that; a `*` at the end of a word is for any ending.
In scripts that are written without spaces every character counts as a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_LONGEST = 2000
_MOST = 40
_ITEM = re.compile(r'"([^"]*)"?|(\S+)')
_TOKEN = re.compile(r"[^\W_]+")
_MARKS = re.compile("[\u0300-\u036f]")
_SIGNS = re.compile(r"[^\w\s]|_")
_LAST = ".,;:!?*"
"""What stands at the end of words for other reasons than to be found."""
# Han, kana, bopomofo, hangul, thai, lao, burmese, khmer.
_ALONE = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3041-\u318f\u31a0-\u31ff\u3400-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_BEFORE, _AROUND = 60, 200


class Term(NamedTuple):
    """Tokens that stand one after the other, `folded`; the last may be only the beginning of one.
    `raw` is what was typed: the index takes it apart as it did the texts."""

    tokens: tuple[str, ...]
    is_prefix: bool = False
    raw: str = ""

    def __str__(self) -> str:
        return f'"{self.raw or " ".join(self.tokens)}"' + (" *" if self.is_prefix else "")

    @property
    def pattern(self) -> str:
        """As it stands in a text that is `folded`."""
        first, *rest = map(re.escape, self.tokens)
        if not _ALONE.match(self.tokens[0]):
            # Looking back after the letters, not before them: what begins with letters is fast.
            first += rf"(?<![^\W_]{first})"
        alone = self.is_prefix or _ALONE.match(self.tokens[-1])
        return r"[\W_]*".join((first, *rest)) + ("" if alone else r"(?![^\W_])")


class Query(NamedTuple):
    """`groups` are alternatives: all terms of one are wanted, and none that it excludes. `signs`
    are those of the terms that no word says whole, like `c++`: patterns for a `folded` text."""

    groups: tuple[tuple[tuple[Term, ...], tuple[Term, ...]], ...]
    signs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups)

    @property
    def expression(self) -> str:
        """As FTS5 takes it."""
        parts: list[str] = []
        for wanted, unwanted in self.groups:
            text = " AND ".join(map(str, wanted))
            parts.append(f"({text})" + "".join(f" NOT {term}" for term in unwanted))
        return " OR ".join(f"({part})" for part in parts)

    @property
    def terms(self) -> list[Term]:
        return [term for wanted, _ in self.groups for term in wanted]

    def is_in(self, text: str) -> bool:
        """Whether a text that has the words has their signs too."""
        whole = folded(text)
        return all(re.search(sign, whole) for sign in self.signs)


class Snippet(NamedTuple):
    """A piece of a text, on one line, and where in it the words stand."""

    text: str
    spans: list[tuple[int, int]]


def parse(text: str) -> Query:
    """The question that a text is; an empty one if it has no word."""
    groups: list[tuple[list[Term], list[Term]]] = [([], [])]
    signs: list[str] = []
    negated = False
    for quoted, word in _ITEM.findall(_plain(text[:_LONGEST]))[:_MOST]:
        if word == "OR":
            groups.append(([], []))
        elif word == "NOT":
            negated = True
        elif word != "AND" and (term := _term(quoted or word, word)):
            groups[-1][negated].append(term)
            if not negated:
                signs += _signs(quoted or word)
            negated = False
    # What is only excluded is looked for: nothing else was said.
    whole = [(wanted or unwanted, unwanted if wanted else []) for wanted, unwanted in groups]
    found = tuple((tuple(a), tuple(b)) for a, b in whole if a)
    # Of alternatives, each has its own.
    return Query(found, tuple(signs) if len(found) == 1 else ())


def _plain(text: str) -> str:
    """Only with characters that an index can have."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _term(text: str, word: str) -> Term | None:
    raw = spaced(text.replace('"', " "))
    tokens = tuple(_TOKEN.findall(folded(raw)))
    return Term(tokens, word.endswith("*"), raw) if tokens else None


def _signs(text: str) -> list[str]:
    bare = folded(text.strip().rstrip(_LAST))
    return [r"\s+".join(map(re.escape, bare.split()))] if _SIGNS.search(bare) else []


def spaced(text: str) -> str:
    """The text, composed, with every character that is a word by itself between spaces."""
    return text if text.isascii() else _ALONE.sub(r" \1 ", unicodedata.normalize("NFC", text))


def folded(text: str) -> str:
    """Lower case and without accents, character by character: places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_folded, text))


@lru_cache(8192)
def _folded(character: str) -> str:
    # A syllable of hangul is more than its first sound.
    if _ALONE.match(character):
        return character
    return unicodedata.normalize("NFD", character.lower()[0])[0]


def find(text: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms stand in a text, in order."""
    if not terms:
        return []
    pattern, whole = _compiled(tuple(terms)), folded(text)
    if text.isascii() or not _MARKS.search(text):
        return [match.span() for match in pattern.finditer(whole)]
    # Accents that are characters of their own stand in the middle of words.
    places = [n for n, character in enumerate(whole) if not _MARKS.match(character)]
    found = [match.span() for match in pattern.finditer(_MARKS.sub("", whole))]
    return [(places[start], places[end - 1] + 1) for start, end in found]


@lru_cache(64)
def _compiled(terms: tuple[Term, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{term.pattern})" for term in terms))


def _first(text: str, terms: Sequence[Term]) -> int:
    """Where the first of the terms stands; 0 if none does."""
    if not terms:
        return 0
    if not text.isascii() and _MARKS.search(text):
        return next((start for start, _ in find(text, terms)), 0)
    found = _compiled(tuple(terms)).search(folded(text))
    return found.start() if found else 0


def snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """The piece of a text where the first of the terms stands, or its beginning."""
    at = _first(text, terms)
    # Enough on both sides that what remains of it on one line is long enough.
    start = max(at - 4 * _BEFORE, 0)
    before = " ".join(text[start:at].split())
    before = before[-_BEFORE:] + (" " if text[at - 1 : at].isspace() and before else "")
    after = " ".join(text[at : at + 8 * _AROUND].split())[:_AROUND]
    left = "…" if start or len(before) >= _BEFORE else ""
    right = "…" if len(text) > at + len(after) + 8 else ""
    piece = f"{left}{before}{after}{right}"
    return Snippet(piece, find(piece, terms))
