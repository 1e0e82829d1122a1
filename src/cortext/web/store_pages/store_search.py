"""Search in the conversations of a service or a store.

There is no index for them. The most recently active conversations are read, as many as possible
within a few seconds.
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
"""Seconds after which no more conversations are read."""
_MOST_FOUND = 20
_MOST_HITS = 3


class MatchedMessage(NamedTuple):
    """A message that matches a query, with its number from 1 and its role.

    `pieces` is its text, cut around the matches: every second piece is a match.
    """

    number: int
    role: str
    pieces: Sequence[str]


class Match(NamedTuple):
    row: StoreRow
    hits: Sequence[MatchedMessage]


class StoreSearchResult(NamedTuple):
    """The result of a search.

    `looked` of `total` conversations were read. If `more` is true, there may be more matches.
    `wrong` is the reason why the search failed, "" if it did not fail.
    """

    matches: Sequence[Match] = ()
    looked: int = 0
    total: int = 0
    more: bool = False
    wrong: str = ""

    @property
    def left(self) -> bool:
        """Whether some conversations were not read."""
        return self.looked < self.total or self.total > MOST


async def find(kept: StoreListRequest, words: str) -> StoreSearchResult:
    """Return the conversations that match the query, the most recently active first.

    A conversation matches if one of its messages or its title does.
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
    """Return whether a text contains the wanted parts of a query, and no unwanted part."""
    if isinstance(part, search_query.Term):
        return bool(search_query.find(text, (part,)))
    wanted = (_is_in(text, each) for each in part.wanted)
    has = any(wanted) if part.either else all(wanted)
    return has and not any(_is_in(text, each) for each in part.unwanted)
