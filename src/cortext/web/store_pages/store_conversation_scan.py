"""Search in the conversations of a store, for the web pages.

A store has no search index. So the search reads the most recently active conversations, as many as
possible within a few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from cortext.formats.text_search import search_query
from cortext.service.stores.port import Conversation
from cortext.web.list_page import pieces
from cortext.web.store_pages.store_conversation_list import MOST, StoreListRequest
from cortext.web.store_pages.store_row import StoreRow, row_of

_BATCH = 50
_TIME_LIMIT = 3.0
"""Seconds after which a search reads no more conversations."""
_MAX_MATCHES = 20
_MAX_HITS = 3


class MatchedMessage(NamedTuple):
    """A message that matches a query. `number` is its number, counted from 1.

    `pieces` is a part of its text, cut before and after each match. The second, fourth, ... piece
    is a match.
    """

    number: int
    role: str
    pieces: Sequence[str]


class Match(NamedTuple):
    row: StoreRow
    hits: Sequence[MatchedMessage]


class StoreSearchResult(NamedTuple):
    """The result of a search in a store.

    - `total`: the number of conversations in the list of the store
    - `looked`: the number of conversations that were searched
    - `more`: whether there are more matches than `matches`
    - `wrong`: the reason why the search failed; "" if it did not fail
    """

    matches: Sequence[Match] = ()
    looked: int = 0
    total: int = 0
    more: bool = False
    wrong: str = ""

    @property
    def left(self) -> bool:
        """Whether some conversations were not searched: too little time, or more than `MOST`."""
        return self.looked < self.total


async def find(kept: StoreListRequest, words: str) -> StoreSearchResult:
    """Return the conversations in a store that match a query, the most recently active first.

    `kept` selects the conversations to search, and `words` is the query. A conversation matches if
    its title or one of its messages matches.
    """
    query = search_query.parse(words)
    listed = await kept.entries()
    entries = listed[:MOST]
    matches: list[Match] = []
    end, looked = asyncio.get_running_loop().time() + _TIME_LIMIT, 0
    while query.whole and looked < len(entries) and len(matches) <= _MAX_MATCHES:
        if looked and asyncio.get_running_loop().time() > end:
            break
        conversations = await kept.read(entries[looked : looked + _BATCH])
        matches += await asyncio.to_thread(_matches, conversations, query)
        looked += _BATCH
    more = len(matches) > _MAX_MATCHES
    if not query.whole or more:
        return StoreSearchResult(matches[:_MAX_MATCHES], len(listed), len(listed), more)
    return StoreSearchResult(matches, min(looked, len(entries)), len(listed), more)


def _matches(conversations: Sequence[Conversation], asked: search_query.Query) -> list[Match]:
    found: list[Match] = []
    for each in conversations:
        row = row_of(each)
        hits: list[MatchedMessage] = []
        for number, message in enumerate(each.messages, 1):
            if asked.whole and _is_match(message.content, asked.whole):
                cut = search_query.snippet(message.content, asked.terms)
                hits.append(
                    MatchedMessage(
                        number, message.role, [*pieces(cut, signs=message.role == "tool")]
                    )
                )
        if hits or (asked.whole and _is_match(row.title, asked.whole)):
            found.append(Match(row, hits[-_MAX_HITS:]))
    return found


def _is_match(text: str, part: search_query.Term | search_query.Clause) -> bool:
    """Return whether a text matches a part of a query: a term or a clause.

    A text matches a term if it contains the term. A clause has wanted and unwanted parts. A text
    matches a clause if it matches all wanted parts and no unwanted part. If the wanted parts are
    combined with OR, one of them is enough.
    """
    if isinstance(part, search_query.Term):
        return bool(search_query.find(text, (part,)))
    wanted = (_is_match(text, each) for each in part.wanted)
    has = any(wanted) if part.either else all(wanted)
    return has and not any(_is_match(text, each) for each in part.unwanted)
