"""The web page that lists all conversations by day, or the results of a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.features.listing.project_names import short_path
from cortext.features.search.search import SearchHit, TextFilter
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.text_search.search_query import Snippet
from cortext.model.safe_text import clean
from cortext.web.conversation_lookup import key_of, source_name
from cortext.web.list_request import ListRequest

# Markdown signs. `*` and `~~` are signs only at the edge of a word: `2**3` and `a * b` have none.
_SIGNS = re.compile(
    r"`{3,}[\w+-]*|`"
    r"|(?<![\w*])(?:\*{1,3}|~~)(?=\w)|(?<=[\w.,:;!?)])(?:\*{1,3}|~~)(?![\w*])"
    r"|(?<!\S)(?:#{1,6}|>)(?=\s)"
    r"|!?\[(?=[^\[\]]*\]\()|(?<=.)\]\([^()\s]*\)"
)
PAGE = 50
"""The number of conversations on a page."""
_PAGE_OF_RESULTS = 20
"""The number of results on the first page of a search. Each further page adds as many."""


class Card(NamedTuple):
    """A conversation as the list shows it. `key` identifies the conversation in URLs.

    `when` is the time of the last activity, in the time zone of this machine.
    """

    key: str
    row: ConversationRow
    title: str
    tools: list[str]
    when: datetime
    folder: str


class DayCards(NamedTuple):
    name: str
    cards: list[Card]


class FoundCard(NamedTuple):
    """A conversation that a search found, with its hits.

    A hit is a message number, a role, a time, and pieces of text. The second, fourth, ... piece is
    a match. `more` is True if the conversation has more hits than these.
    """

    card: Card
    hits: list[tuple[int, str, datetime, list[str]]]
    more: bool


class ListPage(NamedTuple):
    """The content of the list page: conversations by day (`days`), or search results (`found`).

    `total` is the number of conversations. `newer` and `older` are the numbers of the previous and
    the next page; 0 means that there is no such page.
    """

    total: int
    days: Sequence[DayCards] = ()
    found: Sequence[FoundCard] = ()
    newer: int = 0
    older: int = 0


def browse(rows: Sequence[ConversationRow], asked: ListRequest) -> ListPage:
    """Return the requested page of the conversations that match the filters of the request `asked`.

    The conversations are in the order of `rows`.
    """
    matching = asked.filter(rows)
    last = max(-(-len(matching) // PAGE), 1)
    number = min(asked.page, last)
    shown = matching[(number - 1) * PAGE : number * PAGE]
    cards = [*map(card, shown)]
    days = [
        DayCards(name, list(group))
        for name, group in groupby(cards, lambda one: _day_name(one.when))
    ]
    return ListPage(len(matching), days, newer=number - 1, older=number + 1 if number < last else 0)


def search(asked: ListRequest) -> ListPage:
    """Return the results of a search for the words in `asked`.

    New messages are read first. Only conversations that match the filters in `asked` are searched.
    """
    finder = Finder()
    finder.refresh()
    matching = {row.identity for row in asked.filter(finder.rows)}
    finder.rows = [row for row in finder.rows if row.identity in matching]
    narrow = TextFilter(since=asked.span.since, until=asked.span.until)
    most = _PAGE_OF_RESULTS * min(asked.page, 50)
    answer = finder.answer(SearchRequest(asked.q, narrow=narrow, most=most))
    found = [
        FoundCard(card(group.row), [_page_hit(hit) for hit in group.hits], group.more)
        for group in answer.groups
    ]
    return ListPage(len(found), found=found, older=asked.page + 1 if answer.more else 0)


def card(row: ConversationRow) -> Card:
    return Card(
        key=key_of(row),
        row=row,
        title=row.title or row.id,
        tools=sorted(source_name(tool) for tool in row.tools),
        when=local(row.last_active),
        folder=short_path(row.folder),
    )


def local(micros: int) -> datetime:
    """Convert a time to the time zone of this machine. `micros` is in microseconds since 1970."""
    when = clock.from_micros(micros)
    try:
        return when.astimezone()
    except OverflowError:
        return when  # the last day of the year 9999 in a time zone where the next day has begun


def _page_hit(hit: SearchHit) -> tuple[int, str, datetime, list[str]]:
    # The output of a tool is not markdown, so nothing is removed from it.
    parts = pieces(hit.snippet, signs=hit.role == "tool")
    return max(hit.number, 0), hit.role, local(hit.time), list(parts)


def pieces(snippet: Snippet, *, signs: bool = False) -> Iterator[str]:
    """Cut the text of a snippet before and after each match, and yield the pieces.

    The second, fourth, ... piece is a match. Markdown signs outside of matches are removed, unless
    `signs` is True.
    """
    text, at = snippet.text, 0
    marks = [] if signs else [match.span() for match in _SIGNS.finditer(text)]
    for start, end in snippet.spans:
        yield clean(_remove_signs(marks, text, at, start))
        yield clean(text[start:end])
        at = end
    yield clean(_remove_signs(marks, text, at, len(text)))


def _remove_signs(marks: Sequence[tuple[int, int]], text: str, start: int, end: int) -> str:
    """Return `text[start:end]` without markdown signs.

    `marks` has the start and the end of each markdown sign in `text`.
    """
    kept: list[str] = []
    for first, last in marks:
        if start <= first and last <= end:
            kept.append(text[start:first])
            start = last
    return "".join([*kept, text[start:end]])


def _day_name(when: datetime) -> str:
    today, day = clock.now().astimezone().date(), when.date()
    if day in (today, today - timedelta(days=1)):
        return "Today" if day == today else "Yesterday"
    return named(day, with_year=day.year != today.year)


def named(day: date, *, with_year: bool = True) -> str:
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if with_year else "")
