"""Find a conversation by its name, or by words in its messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity
from cortext.catalog.lookup import is_number
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.listing.row_filters import without_copies
from cortext.features.search.ranked_search import find_ranked
from cortext.features.search.search import Search, TextFilter
from cortext.formats.text_search.search_query import parse

_INDEX_SECONDS = 8.0
"""The seconds for indexing new messages."""


class FoundConversations(NamedTuple):
    """The conversations that match a name or words.

    `searched` is None if no messages were searched. Otherwise it has two numbers: how many of the
    candidates are in the index, and how many candidates there are.
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

    `wanted` filters the conversations. Before messages are searched, new messages are captured and
    indexed, which takes long the first time. `progress` is called meanwhile, with the number of
    finished conversations and the total number.
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
    """Find conversations by words in their messages.

    Only the rows in `conversations.candidates` are searched. The last call of `conversations.find`
    sets them. New messages are captured and indexed first, which takes long the first time.
    `progress` is called meanwhile, with the number of finished conversations and the total number.
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
        self._index = FulltextIndex.at_home()
        Search(self._index).refresh(patience=_INDEX_SECONDS, progress=progress)
        self._known = self._index.known()

    def count_indexed(self, rows: Sequence[ConversationRow]) -> int:
        """Return how many of the rows are in the index."""
        return sum(1 for row in rows if row.identity in self._known)

    def find(self, query: str, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that contain all words of the query, in the order of `cortext search`.

        The words may be in different messages.
        """
        by_identity = {row.identity: row for row in rows}
        found = find_ranked(self._index, parse(query), by_identity, TextFilter())
        return [
            by_identity[each.identity]
            for each in found.conversations
            if len(each.words) == len(found.words) and not found.corrections
        ]
