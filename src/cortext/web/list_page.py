"""The web page that lists all conversations: grouped by day, or as the results of a search."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.features.search.search import SearchHit, TextFilter
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.text_search.search_query import Snippet
from cortext.model.safe_text import clean
from cortext.web.conversation_lookup import key_of, source_name
from cortext.web.list_request import ListRequest

# Markdown signs. `*` and `~~` are signs only beside a word, so `2**3` and `a * b` stay as they are.
_SIGNS = re.compile(
    r"`{3,}[\w+-]*|`"
    r"|(?<![\w*])(?:\*{1,3}|~~)(?=\w)|(?<=[\w.,:;!?)])(?:\*{1,3}|~~)(?![\w*])"
    r"|(?<!\S)(?:#{1,6}|>)(?=\s)"
    r"|!?\[(?=[^\[\]]*\]\()|(?<=.)\]\([^()\s]*\)"
)
PAGE = 50
"""The number of conversations on a page."""
_FOUND = 20
"""The number of results that a search shows at first, and that each further page adds."""


class Card(NamedTuple):
    """A conversation as the list shows it. `key` identifies it in URLs.

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

    A hit has a message number, a role, a time and pieces of text. Every second piece is a match.
    `more` is True if the conversation has more hits than these.
    """

    card: Card
    hits: list[tuple[int, str, datetime, list[str]]]
    more: bool


class ListPage(NamedTuple):
    """The content of the list page: `days`, or `found` after a search.

    `total` is the number of conversations. `older` and `newer` are the numbers of the next and the
    previous page; 0 means that there is no such page.
    """

    total: int
    days: Sequence[DayCards] = ()
    found: Sequence[FoundCard] = ()
    newer: int = 0
    older: int = 0


def browse(rows: Sequence[ConversationRow], asked: ListRequest) -> ListPage:
    """Return one page of the conversations that match the filters of a request.

    The page number is also part of the request. The rows keep their order.
    """
    fit = asked.filter(rows)
    last = max(-(-len(fit) // PAGE), 1)
    number = min(asked.page, last)
    cards = [card(row) for row in fit[(number - 1) * PAGE : number * PAGE]]
    days = [
        DayCards(name, list(group)) for name, group in groupby(cards, lambda one: _day(one.when))
    ]
    return ListPage(len(fit), days, newer=number - 1, older=number + 1 if number < last else 0)


def search(asked: ListRequest) -> ListPage:
    """Return the results of a search for the words of a request.

    First read new messages. Search only the conversations that match the filters of the request.
    """
    finder = Finder()
    finder.refresh()
    fit = {row.identity for row in asked.filter(finder.rows)}
    finder.rows = [row for row in finder.rows if row.identity in fit]
    narrow = TextFilter(since=asked.span.since, until=asked.span.until)
    most = _FOUND * min(asked.page, 50)
    answer = finder.answer(SearchRequest(asked.q, narrow=narrow, most=most))
    found = [
        FoundCard(card(group.row), [_hit(hit) for hit in group.hits], group.more)
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
        folder=short_folder(row.folder),
    )


def local(micros: int) -> datetime:
    """Return a time in microseconds since 1970 as a datetime in the time zone of this machine."""
    when = clock.from_micros(micros)
    try:
        return when.astimezone()
    except OverflowError:
        return when  # the last day of the year 9999 in a time zone where the next day has begun


def short_folder(path: str) -> str:
    """Return the path of a folder, with `~` for the home folder."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path[len(home) :]}" if f"{path}/".startswith(f"{home}/") else path


def _hit(hit: SearchHit) -> tuple[int, str, datetime, list[str]]:
    # The output of a tool is not markdown, so its characters stay.
    cut = pieces(hit.snippet, signs=hit.role == "tool")
    return max(hit.number, 0), hit.role, local(hit.time), list(cut)


def pieces(snippet: Snippet, *, signs: bool = False) -> Iterator[str]:
    """Yield the text of a snippet in pieces, cut at the start and the end of each match.

    Every second piece is a match. Markdown signs outside of matches are removed, unless `signs` is
    True.
    """
    text, at = snippet.text, 0
    marks = [] if signs else [found.span() for found in _SIGNS.finditer(text)]
    for start, end in snippet.spans:
        yield clean(_without(marks, text, at, start))
        yield clean(text[start:end])
        at = end
    yield clean(_without(marks, text, at, len(text)))


def _without(marks: Sequence[tuple[int, int]], text: str, start: int, end: int) -> str:
    """Return `text[start:end]` without the markdown signs whose positions `marks` gives."""
    kept: list[str] = []
    for first, last in marks:
        if start <= first and last <= end:
            kept.append(text[start:first])
            start = last
    return "".join([*kept, text[start:end]])


def _day(when: datetime) -> str:
    today, day = clock.now().astimezone().date(), when.date()
    if day in (today, today - timedelta(days=1)):
        return "Today" if day == today else "Yesterday"
    return named(day, with_year=day.year != today.year)


def named(day: date, *, with_year: bool = True) -> str:
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if with_year else "")
