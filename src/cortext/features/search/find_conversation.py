"""Find a conversation by its name, or by words in its messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity
from cortext.catalog.lookup import is_number
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.listing.folder_filters import without_copies
from cortext.features.search.search import Search
from cortext.formats.text_search.search_query import Clause, Term, parse

_SPOKEN = ("user", "assistant")
_BEGINNING = 3
"""The minimum number of characters of a word that also matches longer words."""
_LIKELY = 1000
_PATIENCE, _LONGEST = 8.0, 2.0
"""The seconds for indexing new messages, and for searching the index."""


class FoundConversations(NamedTuple):
    """The conversations that match a name or words.

    `searched` is None if no messages were searched. Otherwise it has two counts: the candidates
    that are in the index, and all candidates.
    """

    rows: Sequence[ConversationRow]
    searched: tuple[int, int] | None = None


def find_conversation(
    conversations: ConversationList,
    query: str,
    wanted: ListFilter = EVERYTHING,
    progress: Callable[[int, int], None] | None = None,
) -> FoundConversations:
    """Find conversations by name. If no name matches, find them by words in their messages.

    Before messages are searched, new messages are captured and indexed. The first time, this takes
    long. `progress` is called meanwhile, with the number done and the total.
    """
    named = conversations.find(query, wanted)
    if named or is_number(query):
        return FoundConversations(named)
    return find_by_text(conversations, query, progress)


def find_by_text(
    conversations: ConversationList,
    query: str,
    progress: Callable[[int, int], None] | None = None,
) -> FoundConversations:
    """Find conversations by words in their messages, among the candidates of the last `find`.

    New messages are captured and indexed first, which takes long the first time. `progress` is
    called meanwhile, with the number done and the total.
    """
    texts = ConversationTexts(progress)
    seen: set[Identity] = set()
    searched = total = 0
    found: list[ConversationRow] = []
    for rows in conversations.candidates:
        new = [row for row in rows if row.identity not in seen]
        seen.update(row.identity for row in new)
        searched, total = searched + texts.count_indexed(new), total + len(new)
        found = texts.find(query, new)
        if found:
            break
    return FoundConversations(without_copies(found, conversations.root), (searched, total))


class ConversationTexts:
    """The full-text index of all conversations, refreshed when the object is created."""

    def __init__(self, progress: Callable[[int, int], None] | None = None) -> None:
        self._words = FulltextIndex.at_home()
        Search(self._words).refresh(patience=_PATIENCE, progress=progress)
        self._known = self._words.known()

    def count_indexed(self, rows: Sequence[ConversationRow]) -> int:
        """Return how many of the rows are in the index."""
        return sum(1 for row in rows if row.identity in self._known)

    def find(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the rows whose messages contain all words of the query, the latest first.

        Only messages of the user and of the agent count. If a single message has all the words,
        only conversations with such a message are returned.
        """
        terms = _terms(query)
        if not terms:
            return []
        among = {row.identity for row in rows}
        found = self._said(terms, among)
        if not found and len(terms) > 1:
            found = among
            for term in terms:
                found = self._said([term], found)
        latest = sorted(rows, key=lambda row: row.last_active, reverse=True)
        return [row for row in latest if row.identity in found]

    def _said(self, terms: Sequence[Term], among: set[Identity]) -> set[Identity]:
        """Return the conversations in which one message has all the terms.

        The search stops after a time limit.
        """
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
    """Return a search term for each word of a query. AND and OR count as ordinary words."""
    found = [term for word in query.split() for term in parse(word).terms]
    return [term._replace(is_prefix=len(term.tokens[-1]) >= _BEGINNING) for term in found]
