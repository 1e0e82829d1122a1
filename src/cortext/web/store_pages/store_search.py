"""Looking for words in what a service or a store keeps. No index is kept of that: those in which
something was said last are read, as many as can be within a moment."""

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
    """A message by its number from 1, who said it, and the pieces of its text, every second of
    which is what was looked for."""

    number: int
    role: str
    pieces: Sequence[str]


class Match(NamedTuple):
    row: StoreRow
    hits: Sequence[MatchedMessage]


class StoreSearchResult(NamedTuple):
    """`looked` conversations were read of `total`; with `more` there may be others. `wrong` is why
    it could not be looked for."""

    matches: Sequence[Match] = ()
    looked: int = 0
    total: int = 0
    more: bool = False
    wrong: str = ""

    @property
    def left(self) -> bool:
        """Whether some were not looked at."""
        return self.looked < self.total or self.total > MOST


async def find(kept: StoreListRequest, words: str) -> StoreSearchResult:
    """The conversations that have a message with the words, the latest first."""
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
    """Whether a text has what is wanted, and nothing that is not."""
    if isinstance(part, search_query.Term):
        return bool(search_query.find(text, (part,)))
    wanted = (_is_in(text, each) for each in part.wanted)
    has = any(wanted) if part.either else all(wanted)
    return has and not any(_is_in(text, each) for each in part.unwanted)
