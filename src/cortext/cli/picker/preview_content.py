"""What the preview shows of a conversation: read and laid out beside the picker, never by it.

Only some messages are laid out: the last ones, or those around the words that were typed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.preview_blocks import Part, blocks, piece
from cortext.errors import CortextError
from cortext.formats.text_search import search_query as queries
from cortext.model.safe_text import clean

if TYPE_CHECKING:
    from rich.text import Text

    from cortext.formats.text_search.search_query import Term
    from cortext.model.message import SessionMessage
    from cortext.model.session import Session

_SHOWN = 24
"""Messages."""
_DOCUMENT = 24_000
"""Characters of a document, of which the rest is left out."""
_RESULT = 1000
"""Characters of what a tool printed."""
_NOTHING = "nothing was said yet"
_MARK = "bold yellow reverse"


class Page(NamedTuple):
    """The lines, of which message each is, which of them have a mark, and whether the end is what
    matters. `places` are the messages that have what was typed, the last first; `number` is the
    one to be shown, 0 for none."""

    lines: Sequence[Text]
    numbers: Sequence[int] = ()
    matches: Sequence[int] = ()
    from_end: bool = False
    places: Sequence[int] = ()
    number: int = 0

    def line_of(self, number: int) -> int | None:
        """Where a message has its first mark, or where it begins; None if it is not here. What is
        no message has one anywhere."""
        marked = (at for at in self.matches if self.numbers[at] == number or not number)
        begins = (at for at, other in enumerate(self.numbers) if number and other == number)
        return next(marked, next(begins, None))


class Wanted(NamedTuple):
    """Which page: of what, how wide, with which words marked, and around which message; -1 is the
    conversation's document, -2 what its sub-agents said."""

    row: ConversationRow
    width: int
    text: str
    number: int = 0


def make(wanted: Wanted) -> Page:
    """The page; what cannot be read is said on it."""
    from rich.text import Text

    try:
        page = _told(wanted)
    except (CortextError, OSError) as error:
        page = Page([Text(clean(str(error)), style="italic")], [0])
    return _marked(page, _terms(wanted.text))


def _marked(page: Page, terms: Sequence[Term]) -> Page:
    """With the words marked, also where a line ends between two of them."""
    from rich.text import Text

    whole = Text("\n").join(page.lines)
    for start, end in queries.find(whole.plain, terms):
        whole.stylize(_MARK, start, end)
    lines = [*whole.split("\n", allow_blank=True)]
    matches = [
        at for at, line in enumerate(lines) if any(span.style == _MARK for span in line.spans)
    ]
    return page._replace(lines=lines, matches=matches)


def _terms(text: str) -> Sequence[Term]:
    """What was typed, of which the last word may not be whole."""
    return queries.parse(as_typed(text)).terms


def as_typed(text: str) -> str:
    """What is typed so far, as a question: its last word may go on."""
    return f"{text}*" if text[-1:].isalnum() else text


def _told(wanted: Wanted) -> Page:
    """The conversation, or what matters of it."""
    from rich.text import Text

    from cortext.catalog.fulltext.fulltext_index import MARKDOWN, SIDE

    row = wanted.row
    if not row.status or wanted.number in (MARKDOWN, SIDE):
        other = _of_agents(row) if wanted.number == SIDE else _markdown(row)
        shown = clean(piece(other, _terms(wanted.text), _DOCUMENT)) or _NOTHING
        return _wrapped(Text(shown, overflow="fold"), wanted.width)
    part = _read(wanted)
    lines, numbers = _laid_out(part, wanted)
    if part.first > 1:
        lines = [Text(_left(part.first - 1, "earlier"), style="dim"), Text(), *lines]
        numbers = [0, 0, *numbers]
    if part.after:
        lines += [Text(), Text(_left(part.after, "later"), style="dim")]
        numbers += [0, 0]
    return Page(lines, numbers, (), not part.after, part.places, part.number)


def _wrapped(text: Text, width: int) -> Page:
    from rich.console import Console

    lines = [*text.wrap(Console(width=width), width)]
    return Page(lines, [0] * len(lines))


def _laid_out(part: Part, wanted: Wanted) -> tuple[list[Text], list[int]]:
    """The lines, and of which message each is."""
    from rich.text import Text

    from cortext.cli.views import page_render

    lines: list[Text] = []
    numbers: list[int] = []
    for number, block in blocks(part, _terms(wanted.text)):
        page = page_render.Page("", [], [block])
        _, *drawn = page_render.rendered(page, width=wanted.width, colour=True)
        text = "\n".join(drawn) if lines else "\n".join(drawn).lstrip("\n")
        new = Text.from_ansi(text).split("\n", allow_blank=True) if drawn else ()
        lines += new
        numbers += [number] * len(new)
    return lines or [Text(_NOTHING)], numbers or [0]


def _left(count: int, when: str) -> str:
    return f"… {count} {when} message{'s' if count > 1 else ''}"


def _read(wanted: Wanted) -> Part:
    """What is laid out of the session: around a place that has the words, or its end."""
    from cortext.model.session import Session

    row = wanted.row
    if not row.tool and not wanted.text and row.messages > 2 * _SHOWN:
        from cortext.workspace.workspace import Workspace

        last = Workspace(row.workspace).store.tail(row.path, _SHOWN)
        return Part(Session(row.key, messages=last), row.messages - len(last) + 1)
    session = _whole(row)
    messages, count = session.messages, len(session.messages)
    places = _places(messages, as_typed(wanted.text))
    number = wanted.number if 0 < wanted.number <= count else next(iter(places), 0)
    last = max(count - _SHOWN, 0)
    start = min(max(number - 3, 0), last) if number else last
    end = min(start + _SHOWN, count)
    if end - start < count:
        session = Session(row.key, messages=messages[start:end])
    return Part(session, start + 1, count - end, places, number)


def _whole(row: ConversationRow) -> Session:
    from cortext.features.listing.load_row import read

    return read(row, _RESULT)[0]


def _places(messages: Sequence[SessionMessage], text: str) -> list[int]:
    """The numbers of the messages that a search for it finds, the last first; if there is none,
    of those that have the most of its words."""
    from cortext.formats.text_search.searchable_text import wording

    query = queries.parse(text)
    if not query:
        return []
    found: dict[int, list[int]] = {}
    for number in range(len(messages), 0, -1):
        content = wording(messages[number - 1])
        has = [bool(queries.find(content, [term])) for term in query.terms]
        is_found = query.whole and _has(content, query.whole) and query.is_in(content)
        score = len(has) + 1 if is_found else sum(has)
        found.setdefault(score, []).append(number)
    most = max(found, default=0)
    return found[most] if most else []


def _has(text: str, part: Term | queries.Clause) -> bool:
    if isinstance(part, queries.Term):
        return bool(queries.find(text, [part]))
    test = any if part.either else all
    has = test(_has(text, each) for each in part.wanted)
    return has and not any(_has(text, each) for each in part.unwanted)


def _markdown(row: ConversationRow) -> str:
    from cortext.durability.read_files import read_file
    from cortext.stores.workspace_layout import document_in

    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    return read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")


def _of_agents(row: ConversationRow) -> str:
    from cortext.features.listing.load_row import read_all
    from cortext.features.search.text_entries import side_text

    return side_text(read_all(row, _RESULT).side)
