"""Suggest similar words from the full-text index for words that occur in no text."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from string import ascii_lowercase
from urllib.parse import quote

from cortext import paths

_SAME = 2
"""How many first characters a similar word must share. Comparing all words would take too long."""
_MOST = 50_000
_CLOSE = 75
"""The similarity, out of 100, from which a word may be suggested for a misspelled word."""
_SHORTEST, _LONGEST = 4, 30
"""The minimum and maximum length of a word for which a similar word is searched."""
_FEW = 5
"""How many similar words are checked. The first one that still occurs in a text is suggested."""


def unknown(
    words: Sequence[str], is_said: Callable[[str], bool] = lambda _: True
) -> dict[str, str]:
    """Return the words that occur in no text, each with the most similar word that does, or "".

    The words must be folded (lower case, no accents) as `search_query.parse` folds them. The index
    also has words of deleted texts, so `is_said` checks that a word still occurs in a text. Return
    {} if the index cannot be read.
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
    """Return the number of indexed texts that contain a word. Deleted texts count too."""
    found = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return found[0] if found else 0


def _alike(db: sqlite3.Connection, word: str) -> Iterator[str]:
    """Yield words of the index that are similar to a word.

    Words that differ by one typing error come first, the most frequent of them first. Similar words
    with the same first characters follow.
    """
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
    """Return every word that differs from this one by a missing, extra, wrong or swapped letter."""
    letters = ascii_lowercase if word.isascii() else "".join({*word})
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    less = [left + right[1:] for left, right in halves]
    swapped = [left + right[1::-1] + right[2:] for left, right in halves]
    other = [left + letter + right[1:] for left, right in halves for letter in letters]
    more = [left + letter + right for left, right in halves for letter in letters]
    return sorted({*less, *swapped, *other, *more} - {word})
