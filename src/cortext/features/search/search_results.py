"""Group search results by conversation, with a few hits of each: the newest, or the best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from cortext.catalog.fulltext.fulltext_index import MARKDOWN, TITLE, Identity, TextMatch
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import (
    EVERYTHING,
    ConversationList,
    ListFilter,
    filter_rows,
)
from cortext.features.listing.row_filters import in_folder
from cortext.features.search.ranked_search import (
    RankedResults,
    find_ranked,
    ranked_hits,
    useful_texts,
)
from cortext.features.search.search import Search, SearchHit, TextFilter, Texts, hits
from cortext.features.search.transcript_scan_result import ScanLimits
from cortext.formats.text_search.search_query import Clause, Query, Term, find, parse

_MIN_EXAMINED = 200
"""The minimum number of texts to examine when only one conversation is searched."""


class SearchRequest(msgspec.Struct, frozen=True):
    """A query with its filters and limits.

    `text` is the query. `wanted` filters conversations, and `narrow` filters texts. `only` limits
    the search to one conversation.

    If `best` is true, the most relevant conversations come first. The first `skip` of them are left
    out, and at most `most` follow. Otherwise the newest hits come first, and there are at most
    `most` hits. `each` is the maximum number of hits for one conversation. `scan` limits the search
    of the transcripts, which runs if the index does not have the whole query.
    """

    text: str
    wanted: ListFilter = EVERYTHING
    narrow: TextFilter = TextFilter()
    most: int = 20
    each: int = 3
    best: bool = True
    only: Identity | None = None
    skip: int = 0
    scan: ScanLimits = ScanLimits()

    @property
    def is_filtered(self) -> bool:
        """True if any option limits the conversations or texts to search."""
        return bool(self.wanted != EVERYTHING or self.narrow != TextFilter() or self.only)


class Group(msgspec.Struct, frozen=True):
    """A conversation in the search results: the hits to show, and whether it has more hits."""

    row: ConversationRow
    hits: list[SearchHit]
    more: bool


class SearchPage(msgspec.Struct, frozen=True):
    """The search results to show, grouped by conversation, and whether there are more.

    - `missing` is empty if a conversation has all words. Otherwise it has the words that the first
      conversation lacks.
    - `corrections` maps each misspelled word to the word that was searched instead.
    - `total` is the number of ranked conversations, including those that are not shown.
    - `too_large` has the paths of transcripts that were too large to be searched for the whole
      query.
    - `left` is the number of conversations that were not searched, because there was not enough
      time.
    """

    groups: list[Group]
    more: bool
    missing: Sequence[str] = ()
    corrections: Mapping[str, str] = {}
    total: int = 0
    too_large: Sequence[str] = ()
    left: int = 0

    @property
    def exact(self) -> list[bool]:
        """A list with one value for each hit: True if its text has the punctuation of the query."""
        return [hit.exact for group in self.groups for hit in group.hits]


class Finder(Search):
    """A search that groups its results by conversation and ranks them."""

    def answer(self, question: SearchRequest, query: Query | None = None) -> SearchPage:
        """Return the results of a search request.

        If `query` is given, search for it instead of the text of the request.
        """
        query, rows = query or parse(question.text), self.among(question)
        if not query or not rows:
            return SearchPage([], more=False)
        if question.best:
            return self._answer_ranked(question, query, rows)
        most = question.most
        each = 0 if question.only else question.each
        limit = max(_MIN_EXAMINED, 2 * most) if question.only else most
        found = self._find_matches(query, rows, question.narrow, limit, each)
        texts = Texts(self._index)
        matches = _drop_redundant(found.found, rows, query, texts)
        selected, with_more, left = _select(matches, question)
        shown = list(hits(replace(found, found=selected), rows, query, texts))
        if self._reindex_edited(shown):
            return self.answer(question, query)
        by_row: dict[Identity, list[SearchHit]] = {}
        for hit in shown:
            by_row.setdefault(hit.row.identity, []).append(hit)
        groups = [Group(rows[key], row_hits, key in with_more) for key, row_hits in by_row.items()]
        return SearchPage(groups, more=found.more or left)

    def rank(self, question: SearchRequest) -> RankedResults:
        """Return the conversations that a request finds, the most relevant first.

        Read no snippets, and ignore the fields `most`, `each` and `skip` of the request.
        """
        query, rows = parse(question.text), self.among(question)
        if not query or not rows:
            return RankedResults()
        return find_ranked(self._index, query, rows, question.narrow, question.scan)

    def ranked_rows(self, text: str) -> list[ConversationRow]:
        """Return the conversations that a query finds, the most relevant first."""
        return [
            self._all_rows[each.identity] for each in self.rank(SearchRequest(text)).conversations
        ]

    def _answer_ranked(
        self, question: SearchRequest, query: Query, rows: dict[Identity, ConversationRow]
    ) -> SearchPage:
        """Return the most relevant conversations, each with its best texts."""
        found = find_ranked(self._index, query, rows, question.narrow, question.scan)
        end = len(rows) if question.only else question.skip + question.most
        shown = found.conversations[question.skip : end]
        texts = Texts(self._index)
        each = question.most if question.only else question.each
        groups = [
            Group(
                rows[ranked.identity],
                ranked_hits(ranked, rows[ranked.identity], found, query, each, texts),
                more=len(useful_texts(ranked.texts)) > each,
            )
            for ranked in shown
        ]
        if self._reindex_edited(hit for group in groups for hit in group.hits):
            return self._answer_ranked(question, query, rows)
        return SearchPage(
            groups,
            more=len(found.conversations) > end
            or (question.only is not None and any(group.more for group in groups)),
            missing=found.missing,
            corrections=found.corrections,
            total=len(found.conversations),
            too_large=found.scanned.too_large,
            left=found.scanned.left,
        )

    @property
    def conversations(self) -> ConversationList:
        """The list of all conversations that the search covers."""
        return self._conversations

    def contains_word(self, word: str) -> bool:
        """Return whether a text of the searched conversations contains exactly this word."""
        query = Query(Clause((Term((word,)),)))
        return bool(self._find_matches(query, self._all_rows, TextFilter(), most=1).found)

    def only(self, takes: Callable[[ConversationRow], bool]) -> Finder:
        """Return a finder that searches only the conversations for which `takes` returns True.

        It shares the open catalog and index with this finder.
        """
        fewer = object.__new__(Finder)
        fewer._index, fewer._conversations = self._index, self._conversations
        fewer.rows = [row for row in self.rows if takes(row)]
        # A refresh needs all rows. Mark these as indexed again, so that `fewer` starts none.
        fewer._reindexed = {row.identity for row in fewer.rows}
        return fewer

    def among(self, question: SearchRequest) -> dict[Identity, ConversationRow]:
        """Return the conversations that a request searches, as a dict from identity to row.

        An identity is a key that no other row has.
        """
        if not question.is_filtered:
            return self._all_rows
        rows = in_folder(filter_rows(self.rows, question.wanted), question.narrow.folder)
        if question.only:
            rows = [row for row in rows if row.identity == question.only]
        return self._by_identity(rows)


def _drop_redundant(
    matches: Sequence[TextMatch],
    rows: dict[Identity, ConversationRow],
    query: Query,
    texts: Texts,
) -> list[TextMatch]:
    """Return the matches without redundant titles and markdown files.

    A title is dropped if another text of its conversation matches. A markdown file is dropped if
    only its heading matches, because the heading repeats the title.
    """
    with_title = {match.identity for match in matches if match.number == TITLE}

    def is_useful(match: TextMatch) -> bool:
        if match.number != MARKDOWN or match.identity not in with_title:
            return match.number != TITLE
        return bool(find(texts.of(rows[match.identity], match), query.terms))

    useful = {match for match in matches if is_useful(match)}
    only_title = with_title - {match.identity for match in useful}
    return [
        match
        for match in matches
        if match in useful or (match.number == TITLE and match.identity in only_title)
    ]


def _select(
    matches: Sequence[TextMatch], question: SearchRequest
) -> tuple[list[TextMatch], set[Identity], bool]:
    """Return the matches to show, within the limits `most` and `each` of the request.

    Also return the conversations that have more matches, and whether the limit `most` left out any
    matches.
    """
    counts: dict[Identity, int] = {}
    selected: list[TextMatch] = []
    with_more: set[Identity] = set()
    is_cut = False
    for match in matches:
        count = counts[match.identity] = counts.get(match.identity, 0) + 1
        fits = count <= question.each or bool(question.only)
        if fits and len(selected) < question.most:
            selected.append(match)
        else:
            with_more.add(match.identity)
            is_cut = is_cut or fits
    return selected, with_more, is_cut
