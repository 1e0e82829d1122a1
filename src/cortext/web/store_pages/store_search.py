"""Search in the conversations of a store, for the web pages.

A store has no search index. For this reason the search reads the most recently active
conversations, as many as possible within a few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from cortext.formats.text_search import search_query
from cortext.service.stores.port import Conversation
from cortext.web.list_page import pieces
from cortext.web.store_pages.store_list import MOST, StoreListRequest
from cortext.web.store_pages.store_row import StoreRow, row_of

_AT_ONCE = 50
_WITHIN = 3.0
"""Seconds after which a search reads no more conversations."""
_MOST_FOUND = 20
_MOST_HITS = 3


class MatchedMessage(NamedTuple):
    """A message that matches a query. `number` counts from 1.

    `pieces` is a part of its text, cut around the found words: every second piece is a found word.
    """

    number: int
    role: str
    pieces: Sequence[str]


class Match(NamedTuple):
    row: StoreRow
    hits: Sequence[MatchedMessage]


class StoreSearchResult(NamedTuple):
    """The result of a search in a store.

    `total` is the number of conversations, and `looked` is how many of these were read. If `more`
    is True, there may be more matches. `wrong` is the reason why the search failed, or "".
    """

    matches: Sequence[Match] = ()
    looked: int = 0
    total: int = 0
    more: bool = False
    wrong: str = ""

    @property
    def left(self) -> bool:
        """Whether the search did not read all conversations."""
        return self.looked < self.total or self.total > MOST


async def find(kept: StoreListRequest, words: str) -> StoreSearchResult:
    """Return the conversations in a store that match a query, the most recently active first.

    `kept` selects the conversations to search, and `words` is the query. A conversation matches if
    its title or one of its messages matches.
    """
    asked = search_query.parse(words)
    entries = (await kept.entries())[:MOST]
    matches: list[Match] = []
    end, looked = asyncio.get_running_loop().time() + _WITHIN, 0
    while asked.whole and looked < len(entries) and len(matches) <= _MOST_FOUND:
        if looked and asyncio.get_running_loop().time() > end:
            break
        some = await kept.read(entries[looked : looked + _AT_ONCE])
        matches += await asyncio.to_thread(_matches, some, asked)
        looked += _AT_ONCE
    more = len(matches) > _MOST_FOUND
    looked = len(entries) if not asked.whole or more else min(looked, len(entries))
    return StoreSearchResult(matches[:_MOST_FOUND], looked, len(entries), more)


def _matches(conversations: Sequence[Conversation], asked: search_query.Query) -> list[Match]:
    found: list[Match] = []
    for each in conversations:
        row = row_of(each)
        hits: list[MatchedMessage] = []
        for number, message in enumerate(each.messages, 1):
            if asked.whole and _is_in(message.content, asked.whole):
                cut = search_query.snippet(message.content, asked.terms)
                hits.append(
                    MatchedMessage(
                        number, message.role, [*pieces(cut, signs=message.role == "tool")]
                    )
                )
        if hits or (asked.whole and _is_in(row.title, asked.whole)):
            found.append(Match(row, hits[-_MOST_HITS:]))
    return found


def _is_in(text: str, part: search_query.Term | search_query.Clause) -> bool:
    """Return whether a text matches `part`, a term or a clause of a query.

    A text matches a clause if it contains the wanted parts, and none of the unwanted parts.
    """
    if isinstance(part, search_query.Term):
        return bool(search_query.find(text, (part,)))
    wanted = (_is_in(text, each) for each in part.wanted)
    has = any(wanted) if part.either else all(wanted)
    return has and not any(_is_in(text, each) for each in part.unwanted)
