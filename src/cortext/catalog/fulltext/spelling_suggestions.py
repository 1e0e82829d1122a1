"""Suggest similar words from the full-text index for words that occur in no text."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from string import ascii_lowercase

from cortext import paths

_SHARED_PREFIX = 2
"""The number of first characters that a similar word must have in common with the misspelled word.

Comparing the misspelled word with all words would take too long.
"""
_MOST_TERMS = 50_000
_LEAST_SIMILARITY = 75
"""The minimum similarity, out of 100, of a word that is suggested for a misspelled word."""
_SHORTEST, _LONGEST = 4, 30
"""The minimum and maximum length of a word for which a similar word is searched."""
_MOST_CHECKED = 5
"""The number of similar words to check. The first word that still occurs in a text is suggested."""


def unknown(
    words: Sequence[str], is_said: Callable[[str], bool] = lambda _: True
) -> dict[str, str]:
    """Return the `words` that occur in no text, each with a similar word that occurs in a text.

    The result maps each such word to the most similar word, or to "" if there is none. The words
    must be folded (lower case, no accents) as `search_query.parse` folds them. The index also has
    words of deleted texts. So the function `is_said` is called to check that a word still occurs in
    a text. Return {} if the index cannot be read.
    """
    suggestions: dict[str, str] = {}
    try:
        with closing(_open()) as db:
            for word in dict.fromkeys(words):
                if not (_texts_with(db, word) and is_said(word)):
                    suggestions[word] = next(filter(is_said, _find_similar(db, word)), "")
    except sqlite3.Error:
        return {}
    return suggestions


def _open() -> sqlite3.Connection:
    from urllib.parse import quote  # takes a sixth of a bare start, and few searches need it

    db = sqlite3.connect(f"file:{quote(os.fsencode(paths.words()))}?mode=ro", uri=True)
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)")
    return db


def _texts_with(db: sqlite3.Connection, word: str) -> int:
    """Return the number of indexed texts that contain a word. Deleted texts count too."""
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return row[0] if row else 0


def _find_similar(db: sqlite3.Connection, word: str) -> Iterator[str]:
    """Yield words of the index that are similar to a word.

    Words that differ by one typing error come first, the most frequent of them first. Similar words
    with the same first characters follow.
    """
    if not _SHORTEST <= len(word) <= _LONGEST:
        return
    counts = {other: _texts_with(db, other) for other in _misspellings(word)}
    frequent = sorted(filter(counts.__getitem__, counts), key=lambda other: -counts[other])
    yield from frequent[:_MOST_CHECKED]
    from rapidfuzz import fuzz, process

    prefix = word[:_SHARED_PREFIX]
    query = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
    rows = db.execute(query, (prefix, prefix + "\U0010ffff", _MOST_TERMS))
    terms = [term for (term,) in rows if abs(len(term) - len(word)) < _SHORTEST and term != word]
    best = process.extract(
        word, terms, scorer=fuzz.ratio, score_cutoff=_LEAST_SIMILARITY, limit=_MOST_CHECKED
    )
    yield from (term for term, _, _ in best)


def _misspellings(word: str) -> list[str]:
    """Return every string that differs from a word by a missing, extra, wrong or swapped letter."""
    letters = ascii_lowercase if word.isascii() else "".join({*word})
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = [left + right[1:] for left, right in halves]
    swapped = [left + right[1::-1] + right[2:] for left, right in halves]
    replaced = [left + letter + right[1:] for left, right in halves for letter in letters]
    longer = [left + letter + right for left, right in halves for letter in letters]
    return sorted({*shorter, *swapped, *replaced, *longer} - {word})
