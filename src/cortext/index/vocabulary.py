"""The words that the full-text index knows: for a word that nobody said, one that somebody did."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from urllib.parse import quote

from cortext import paths

_SAME = 2
"""Characters at the beginning that are taken to be right: all words are too many to look at."""
_MOST = 50_000
_CLOSE = 75
"""How alike a misspelt word is, of 100."""
_SHORTEST = 4


def unknown(words: Sequence[str]) -> dict[str, str]:
    """Those of the words that nobody said, each with the nearest that somebody did, or "". The
    words are as `formats.query` has them. Nothing is told of an index that cannot be read."""
    found: dict[str, str] = {}
    try:
        with closing(_open()) as db:
            for word in dict.fromkeys(words):
                if (
                    db.execute("SELECT 1 FROM vocabulary WHERE term = ?", (word,)).fetchone()
                    is None
                ):
                    found[word] = _nearest(db, word)
    except sqlite3.Error:
        return {}
    return found


def _open() -> sqlite3.Connection:
    db = sqlite3.connect(f"file:{quote(os.fsencode(paths.words()))}?mode=ro", uri=True)
    db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, row)")
    return db


def _nearest(db: sqlite3.Connection, word: str) -> str:
    if len(word) < _SHORTEST:
        return ""
    from rapidfuzz import fuzz, process

    begin = word[:_SAME]
    query = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
    near = db.execute(query, (begin, begin + "\U0010ffff", _MOST))
    terms = [term for (term,) in near if abs(len(term) - len(word)) < _SHORTEST]
    best = process.extractOne(word, terms, scorer=fuzz.ratio, score_cutoff=_CLOSE)
    return best[0] if best else ""
