"""Group search results by conversation, with a few hits of each, the newest or the best first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_index import MARKDOWN, TITLE, Identity, TextMatch
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import (
    EVERYTHING,
    ConversationList,
    ListFilter,
    filter_rows,
)
from cortext.features.listing.folder_filters import in_folder
from cortext.features.search.search import Search, SearchHit, TextFilter, Texts, hits
from cortext.formats.text_search.search_query import Query, Term, find, parse

_LOOKED_AT = 200
"""How many texts are examined at least when only one conversation is searched."""
_RANKED = 2000
"""How many of the newest matching texts are ranked by relevance, within `_PATIENCE` seconds."""
_PATIENCE = 1.0
_STEEP, _LONG = 1.2, 0.75
"""The parameters k1 and b of BM25: saturation of a word's count, and effect of a text's length."""


class SearchRequest(NamedTuple):
    """A query with its filters and limits.

    `text` is the query. `wanted` filters conversations, and `narrow` filters texts. `most` limits
    all hits, and `each` limits the hits of one conversation. With `best`, the most relevant hits
    come first, otherwise the newest. `only` limits the search to one conversation.
    """

    text: str
    wanted: ListFilter = EVERYTHING
    narrow: TextFilter = TextFilter()
    most: int = 20
    each: int = 3
    best: bool = False
    only: Identity | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether any option limits the conversations or texts to search."""
        return bool(self.wanted != EVERYTHING or self.narrow != TextFilter() or self.only)


class Group(NamedTuple):
    """A conversation in the search results: the hits to show, and whether it has more hits."""

    row: ConversationRow
    hits: list[SearchHit]
    more: bool


class SearchPage(NamedTuple):
    """The search results to show, grouped by conversation, and whether there are more."""

    groups: list[Group]
    more: bool

    @property
    def exact(self) -> list[bool]:
        """For each hit in order, whether its text has the punctuation of the query."""
        return [hit.exact for group in self.groups for hit in group.hits]


class Finder(Search):
    """A search that groups its results by conversation and ranks them."""

    def answer(self, question: SearchRequest, query: Query | None = None) -> SearchPage:
        """Return the results of a search request.

        If given, `query` replaces the text of the request.
        """
        query, rows = query or parse(question.text), self.among(question)
        if not query or not rows:
            return SearchPage([], more=False)
        best, most = question.best, question.most
        each = 0 if best or question.only else question.each
        looked = _RANKED if best else max(_LOOKED_AT, 2 * most) if question.only else most
        found = self._spots(query, rows, question.narrow, looked, each)
        spots = _once(found.found, rows, query)
        if best:
            spots = _best_first(spots, rows, query)
        taken, crowded, left = _spread(spots, question)
        shown = list(hits(found._replace(found=taken), rows, query))
        if self._read_anew(shown):
            return self.answer(question, query)
        by_row: dict[Identity, list[SearchHit]] = {}
        for hit in shown:
            by_row.setdefault(hit.row.identity, []).append(hit)
        groups = [Group(rows[key], said, key in crowded) for key, said in by_row.items()]
        return SearchPage(groups, more=found.more or left)

    @property
    def conversations(self) -> ConversationList:
        """The list of all conversations that the search covers."""
        return self._conversations

    def having(
        self, query: Query, rows: dict[Identity, ConversationRow], narrow: TextFilter, *, most: int
    ) -> dict[Identity, TextMatch]:
        """Return the newest matching text of each conversation in `rows` that has a match.

        `most` limits the number of texts.
        """
        return self.telling_signs(query, rows, narrow, most=most)[0]

    def telling_signs(
        self, query: Query, rows: dict[Identity, ConversationRow], narrow: TextFilter, *, most: int
    ) -> tuple[dict[Identity, TextMatch], set[Identity]]:
        """Return what `having` returns, and the conversations whose texts lack the punctuation.

        Texts match by their words. The punctuation of the query is, for example, the plus signs of
        `c++`.
        """
        first: dict[Identity, TextMatch] = {}
        found = self._spots(query, rows, narrow, most, each=1)
        for spot in found.found:
            # Prefer a message to a title.
            if spot.identity not in first or first[spot.identity].number <= TITLE < spot.number:
                first[spot.identity] = spot
        exact = {spot.identity for spot in found.found if spot.id not in found.loose}
        return first, first.keys() - exact

    def only(self, takes: Callable[[ConversationRow], bool]) -> Finder:
        """Return a finder over the conversations for which `takes` returns True.

        It shares the open catalog and index with this finder.
        """
        fewer = object.__new__(Finder)
        fewer._words, fewer._conversations = self._words, self._conversations
        fewer.rows = [row for row in self.rows if takes(row)]
        # A refresh needs all rows, so mark these as already read again.
        fewer._anew = {row.identity for row in fewer.rows}
        return fewer

    def among(self, question: SearchRequest) -> dict[Identity, ConversationRow]:
        """Return the conversations that a request searches, by identity."""
        if not question.is_filtered:
            return self._all_rows
        rows = in_folder(filter_rows(self.rows, question.wanted), question.narrow.folder)
        if question.only:
            rows = [row for row in rows if row.identity == question.only]
        return self._each_once(rows)


def _once(
    spots: Sequence[TextMatch], rows: dict[Identity, ConversationRow], query: Query
) -> list[TextMatch]:
    """Return the matches without redundant ones.

    A title is dropped if another text of its conversation matches. A markdown is dropped if only
    its heading matches, which repeats the title.
    """
    titled = {spot.identity for spot in spots if spot.number == TITLE}
    texts = Texts()

    def says(spot: TextMatch) -> bool:
        if spot.number != MARKDOWN or spot.identity not in titled:
            return spot.number != TITLE
        return bool(find(texts.of(rows[spot.identity], spot), query.terms))

    said = {spot for spot in spots if says(spot)}
    alone = titled - {spot.identity for spot in said}
    return [
        spot for spot in spots if spot in said or (spot.number == TITLE and spot.identity in alone)
    ]


def _spread(
    spots: Sequence[TextMatch], question: SearchRequest
) -> tuple[list[TextMatch], set[Identity], bool]:
    """Choose the matches to show, within the limits `most` and `each` of the request.

    Also return the conversations that have more matches, and whether `most` left some out.
    """
    counts: dict[Identity, int] = {}
    taken: list[TextMatch] = []
    crowded: set[Identity] = set()
    left = False
    for spot in spots:
        count = counts[spot.identity] = counts.get(spot.identity, 0) + 1
        fits = count <= question.each or bool(question.only)
        if fits and len(taken) < question.most:
            taken.append(spot)
        else:
            crowded.add(spot.identity)
            left = left or fits
    return taken, crowded, left


def _best_first(
    spots: Sequence[TextMatch], rows: dict[Identity, ConversationRow], query: Query
) -> list[TextMatch]:
    """Return the matches by relevance, with BM25 over these matches.

    Matches that there was no time to read come last, the newest first.
    """
    terms = list(dict.fromkeys(query.terms))
    if len(terms) > 1:
        # Words that follow one another in a text count additionally, as a phrase.
        terms.append(Term(tuple(token for term in terms for token in term.tokens)))
    read = dict(_counted(spots, rows, terms))
    if not read:
        return list(spots)
    mean = sum(length for _, length in read.values()) / len(read) or 1
    rarity = [
        math.log(1 + (len(read) + 0.5) / (0.5 + sum(1 for counts, _ in read.values() if counts[n])))
        for n in range(len(terms))
    ]

    def score(spot: TextMatch) -> float:
        counts, length = read.get(spot, ((), 0))
        damping = _STEEP * (1 - _LONG + _LONG * length / mean)
        return sum(
            weight * count / (count + damping)
            for weight, count in zip(rarity, counts, strict=False)
            if count
        )

    return sorted(spots, key=score, reverse=True)


def _counted(
    spots: Sequence[TextMatch], rows: dict[Identity, ConversationRow], terms: Sequence[Term]
) -> Iterator[tuple[TextMatch, tuple[tuple[int, ...], int]]]:
    """Yield each match with the counts of the terms in its text, and the length of the text.

    Only one conversation at a time is in memory. Reading stops after a time limit.
    """
    end = time.monotonic() + _PATIENCE
    by_row: dict[Identity, list[TextMatch]] = {}
    for spot in spots:
        by_row.setdefault(spot.identity, []).append(spot)
    for identity, group in by_row.items():
        texts = Texts()
        for spot in group:
            if time.monotonic() > end:
                return
            text = texts.of(rows[identity], spot)
            counts = tuple(len(find(text, [term])) for term in terms)
            yield spot, (counts, len(text))
