"""Finding a conversation by words that were said in it, when nothing is called so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity
from cortext.catalog.row import ConversationRow
from cortext.features.search.search import Search
from cortext.formats.text_search.search_query import Clause, Term, parse

_SPOKEN = ("user", "assistant")
_BEGINNING = 3
"""Characters of a word that may be the beginning of a longer one."""
_LIKELY = 1000
_PATIENCE, _LONGEST = 8.0, 2.0
"""Seconds that what is new is read, and that the index is looked through."""


class Searched(NamedTuple):
    """Those that have the words, the latest first, and how many were looked through of all."""

    rows: list[ConversationRow]
    looked: int
    all: int


class ConversationFinder:
    """What was said in all conversations. It is brought up to date once; the first time that takes
    as long as there is much, and `progress` is told."""

    def __init__(self, progress: Callable[[int, int], None] | None = None) -> None:
        self._words = FulltextIndex.at_home()
        Search(self._words).refresh(patience=_PATIENCE, progress=progress)
        self._known = self._words.known()

    def having(self, query: str, rows: Sequence[ConversationRow]) -> Searched:
        """Those of the rows in which all the words were said by the person or the agent; in one
        message, if there is such a one."""
        terms = _terms(query)
        looked = sum(1 for row in rows if row.identity in self._known)
        if not terms:
            return Searched([], looked, len(rows))
        among = {row.identity for row in rows}
        found = self._said(terms, among)
        if not found and len(terms) > 1:
            found = among
            for term in terms:
                found = self._said([term], found)
        latest = sorted(rows, key=lambda row: row.last_active, reverse=True)
        return Searched([row for row in latest if row.identity in found], looked, len(rows))

    def _said(self, terms: Sequence[Term], among: set[Identity]) -> set[Identity]:
        """Those of the conversations in which one message has all the terms, as far as there is
        time to look."""
        expression = str(Clause(tuple(terms)))
        found: set[Identity] = set()
        end = time.monotonic() + _LONGEST

        def skips(identity: Identity) -> bool:
            return identity not in among or identity in found

        for spot in self._words.find(expression, most=_LIKELY, skips=skips):
            if spot.role in _SPOKEN and spot.identity in among:
                found.add(spot.identity)
            if len(found) == len(among) or time.monotonic() > end:
                break
        return found


def _terms(query: str) -> list[Term]:
    """Each word for itself: AND and OR are words of a title like others."""
    found = [term for word in query.split() for term in parse(word).terms]
    return [term._replace(is_prefix=len(term.tokens[-1]) >= _BEGINNING) for term in found]
