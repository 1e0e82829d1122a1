"""Find a conversation by its name, or by words in its messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity
from cortext.catalog.lookup import is_number
from cortext.catalog.row import ConversationRow
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.listing.row_filters import without_copies
from cortext.features.search.ranked_search import RankedResults, find_ranked
from cortext.features.search.search import Search, TextFilter
from cortext.formats.text_search.search_query import parse

_INDEX_SECONDS = 8.0
"""The maximum number of seconds in which new messages are indexed before a search."""


class FoundConversations(msgspec.Struct, frozen=True):
    """The conversations that match a name, or words in their messages.

    Conversations that match words are in the order of `cortext search`. If exactly one conversation
    has all words, `rows` contains only this one. If no conversation has all words, `is_closest` is
    true. `missing` and `corrections` are the same as in `RankedResults`.

    `searched` is None if only names were searched. Otherwise it has two numbers: how many of the
    searched conversations are in the index, and how many conversations were searched in total.
    """

    rows: Sequence[ConversationRow]
    searched: tuple[int, int] | None = None
    is_closest: bool = False
    missing: Sequence[str] = ()
    corrections: Mapping[str, str] = {}


def find_conversation(
    conversations: ConversationList,
    query: str,
    wanted: ListFilter = EVERYTHING,
    progress: Callable[[int, int], None] | None = None,
) -> FoundConversations:
    """Find conversations by name. If no name matches, find them by words in their messages.

    `wanted` filters the conversations. Before the messages are searched, new messages are captured
    and indexed. This takes long the first time, so `progress` is called with the number of finished
    conversations and the total number.
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
    """Find conversations by words in their messages, in the order of `cortext search`.

    Call `conversations.find` first. It sets `conversations.candidates`, which are the rows to
    search: first the rows of this workspace or folder, then all other rows. The other rows are
    searched only if no conversation of the first rows has all words.

    Before the search, new messages are captured and indexed. This takes long the first time, so
    `progress` is called with the number of finished conversations and the total number.
    """
    index = FulltextIndex.at_home()
    Search(index).refresh(patience=_INDEX_SECONDS, progress=progress)
    known, parsed = index.known(), parse(query)
    rows: dict[Identity, ConversationRow] = {}
    found = RankedResults()
    for candidates in conversations.candidates:
        rows |= {row.identity: row for row in without_copies(candidates, conversations.root)}
        found = find_ranked(index, parsed, rows, TextFilter())
        if found.complete:
            break
    ranked = found.conversations
    if len(found.complete) == 1 and ranked[0].identity in found.complete:
        ranked = ranked[:1]
    return FoundConversations(
        [rows[each.identity] for each in ranked],
        (sum(identity in known for identity in rows), len(rows)),
        is_closest=not found.complete,
        missing=found.missing,
        corrections=found.corrections,
    )
