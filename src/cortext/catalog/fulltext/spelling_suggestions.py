"""The words that the full-text index knows: for a word that nobody said, one that somebody did."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from string import ascii_lowercase
from urllib.parse import quote

from cortext import paths

_SAME = 2
"""Characters at the beginning that are taken to be right: all words are too many to look at."""
_MOST = 50_000
_CLOSE = 75
"""How alike a misspelt word is, of 100."""
_SHORTEST, _LONGEST = 4, 30
"""Characters of a word that may be misspelt."""
_FEW = 5
"""Words that are alike, of which the first that is said is told."""


def unknown(
    words: Sequence[str], is_said: Callable[[str], bool] = lambda _: True
) -> dict[str, str]:
    """Return the words that occur in no text, each with the most similar word that does, or "".

    The words are folded as `search_query.parse` folds them. The index also knows words of texts
    that are gone, so `is_said` checks a word. {} if the index cannot be read.
    """
    found: dict[str, str] = {}
    try:
        with closing(_open()) as db:
            for word in dict.fromkeys(words):
                if not (_texts_with(db, word) and is_said(word)):
                    found[word] = next(filter(is_said, _alike(db, word)), "")
    except sqlite3.Error:
        return {}
    return found


def _open() -> sqlite3.Connection:
    db = sqlite3.connect(f"file:{quote(os.fsencode(paths.words()))}?mode=ro", uri=True)
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)")
    return db


def _texts_with(db: sqlite3.Connection, word: str) -> int:
    """How many texts have it, or had."""
    found = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return found[0] if found else 0


def _alike(db: sqlite3.Connection, word: str) -> Iterator[str]:
    """Words like another: those one slip of the finger away first, the most frequent before
    the others, then those that begin the same."""
    if not _SHORTEST <= len(word) <= _LONGEST:
        return
    counted = {other: _texts_with(db, other) for other in _slips(word)}
    near = sorted(filter(counted.__getitem__, counted), key=lambda other: -counted[other])
    yield from near[:_FEW]
    from rapidfuzz import fuzz, process

    begin = word[:_SAME]
    query = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
    begun = db.execute(query, (begin, begin + "\U0010ffff", _MOST))
    terms = [term for (term,) in begun if abs(len(term) - len(word)) < _SHORTEST and term != word]
    best = process.extract(word, terms, scorer=fuzz.ratio, score_cutoff=_CLOSE, limit=_FEW)
    yield from (term for term, _, _ in best)


def _slips(word: str) -> list[str]:
    """What is one slip away: a letter missing, one too many, another one, or two swapped."""
    letters = ascii_lowercase if word.isascii() else "".join({*word})
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    less = [left + right[1:] for left, right in halves]
    swapped = [left + right[1::-1] + right[2:] for left, right in halves]
    other = [left + letter + right[1:] for left, right in halves for letter in letters]
    more = [left + letter + right for left, right in halves for letter in letters]
    return sorted({*less, *swapped, *other, *more} - {word})
