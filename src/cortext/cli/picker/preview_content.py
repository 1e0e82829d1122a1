"""The content of the picker's preview, which a worker thread reads and lays out.

Only some messages are laid out: the last ones, or those around the typed words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from cortext.catalog.fulltext.fulltext_index import MARKDOWN, SIDE
from cortext.catalog.row import ConversationRow
from cortext.cli.terminal_text import local
from cortext.cli.views import page_render
from cortext.cli.views.page_render import PageBlock
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.features.listing.session_of_row import read, read_all
from cortext.features.search.index_entries import side_text
from cortext.formats.message_history import history
from cortext.formats.text_search import search_query as queries
from cortext.formats.text_search.search_query import Term
from cortext.formats.text_search.searchable_text import wording
from cortext.model.message import SessionMessage
from cortext.model.safe_text import clean
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in
from cortext.workspace.workspace import Workspace

_SHOWN = 24
"""The most messages in a preview."""
_DOCUMENT = 24_000
"""The most characters of a conversation's document in a preview."""
_RESULT = 1000
"""The most characters of a tool's output in a preview."""
_LONGEST = 6000
"""The most characters of a message in a preview."""
_BEFORE = 1000
"""The characters to show before the found words in a long message."""
_NOTHING = "nothing was said yet"
_MARK = "bold yellow reverse"


class Part(NamedTuple):
    """The messages of a session that a preview lays out.

    `first` is the number of its first message, and `after` counts the messages that follow the
    part. `places` are the numbers of all messages with the typed words. `number` is the message to
    scroll to, or 0.
    """

    session: Session
    first: int = 1
    after: int = 0
    places: Sequence[int] = ()
    number: int = 0


class PreviewPage(NamedTuple):
    """The lines of a preview.

    `numbers` has the message number of each line. `matches` has the indexes of lines with marked
    words. With `from_end` the end of the page is shown first. `places` are the numbers of the
    messages with the typed words, the last first. `number` is the message to scroll to, or 0.
    """

    lines: Sequence[Text]
    numbers: Sequence[int] = ()
    matches: Sequence[int] = ()
    from_end: bool = False
    places: Sequence[int] = ()
    number: int = 0

    def line_of(self, number: int) -> int | None:
        """Return the index of a message's first line with marked words, or of its first line.

        With `number` 0, return the first line with marked words. Return None if there is no such
        line.
        """
        marked = (at for at in self.matches if self.numbers[at] == number or not number)
        begins = (at for at, other in enumerate(self.numbers) if number and other == number)
        return next(marked, next(begins, None))


class PreviewRequest(NamedTuple):
    """A request for a preview: a conversation, the width in columns, and the words to mark.

    `number` is the message to show, or 0. -1 stands for the conversation's document, -2 for the
    text of its sub-agents.
    """

    row: ConversationRow
    width: int
    text: str
    number: int = 0


def make(wanted: PreviewRequest) -> PreviewPage:
    """Return the preview for a request. If the conversation cannot be read, it shows the error."""
    try:
        page = _told(wanted)
    except (CortextError, OSError) as error:
        page = PreviewPage([Text(clean(str(error)), style="italic")], [0])
    return _marked(page, _terms(wanted.text))


def _marked(page: PreviewPage, terms: Sequence[Term]) -> PreviewPage:
    """Return the page with the words marked, also where a line breaks between two words."""
    whole = Text("\n").join(page.lines)
    for start, end in queries.find(whole.plain, terms):
        whole.stylize(_MARK, start, end)
    lines = [*whole.split("\n", allow_blank=True)]
    matches = [
        at for at, line in enumerate(lines) if any(span.style == _MARK for span in line.spans)
    ]
    return page._replace(lines=lines, matches=matches)


def _terms(text: str) -> Sequence[Term]:
    """Return the search terms of the typed text. The last word may be incomplete."""
    return queries.parse(as_typed(text)).terms


def as_typed(text: str) -> str:
    """Return the typed text as a search query that also finds longer forms of the last word."""
    return f"{text}*" if text[-1:].isalnum() else text


def _told(wanted: PreviewRequest) -> PreviewPage:
    """Return the preview for a request, without marked words."""
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
    return PreviewPage(lines, numbers, (), not part.after, part.places, part.number)


def _wrapped(text: Text, width: int) -> PreviewPage:
    lines = [*text.wrap(Console(width=width), width)]
    return PreviewPage(lines, [0] * len(lines))


def _laid_out(part: Part, wanted: PreviewRequest) -> tuple[list[Text], list[int]]:
    """Return the lines of the messages, and the message number of each line."""
    lines: list[Text] = []
    numbers: list[int] = []
    for number, block in blocks(part, _terms(wanted.text)):
        page = page_render.ConversationPage("", [], [block])
        _, *drawn = page_render.rendered(page, width=wanted.width, colour=True)
        text = "\n".join(drawn) if lines else "\n".join(drawn).lstrip("\n")
        new = Text.from_ansi(text).split("\n", allow_blank=True) if drawn else ()
        lines += new
        numbers += [number] * len(new)
    return lines or [Text(_NOTHING)], numbers or [0]


def _left(count: int, when: str) -> str:
    return f"… {count} {when} message{'s' if count > 1 else ''}"


def _read(wanted: PreviewRequest) -> Part:
    """Read the messages to lay out: the last ones, or those around the typed words."""
    row = wanted.row
    if not row.tool and not wanted.text and row.messages > 2 * _SHOWN:
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
    return read(row, _RESULT)[0]


def _places(messages: Sequence[SessionMessage], text: str) -> list[int]:
    """Return the numbers of the messages that match the query, the last first.

    If no message matches, return the messages with the most words of the query.
    """
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
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    return read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")


def _of_agents(row: ConversationRow) -> str:
    return side_text(read_all(row, _RESULT).side)


def blocks(part: Part, terms: Sequence[Term]) -> Iterator[tuple[int, PageBlock]]:
    """Yield the blocks of a preview, each with the number of its message.

    A tool call is a short stub, which contains the beginning of the result. If the result has the
    typed words, the full result follows as a block of its own.
    """
    told, before = "", part.first - 1
    parts = history(part.session, lambda number: f"message {number + before}")
    folded = _folded(part, {one.number for one in parts})
    for one in parts:
        while folded and folded[0] < one.number:
            yield _result(part, folded.pop(0), terms)
        past = one.past
        heading = _heading(part.session, one.number, past.role)
        spoken = past.role in ("user", "assistant")
        shown = "" if heading == told else heading
        text = past.text if spoken else _with_words(part, one.number, past.text, terms)
        yield one.number + before, PageBlock(shown, past.role, piece(text, terms), spoken)
        told = heading if past.role != "tool" else told
    for number in folded:
        yield _result(part, number, terms)


def _folded(part: Part, told: Set[int]) -> list[int]:
    """Return the messages with the typed words that have no block, because a stub contains them.

    The numbers count from 1 at the start of the part. `told` are the numbers that have a block.
    """
    hits = {number - part.first + 1 for number in (*part.places, part.number)}
    return [n for n in range(1, len(part.session.messages) + 1) if n in hits and n not in told]


def _result(part: Part, number: int, terms: Sequence[Term]) -> tuple[int, PageBlock]:
    content = part.session.messages[number - 1].content
    return number + part.first - 1, PageBlock("", "tool", piece(content, terms))


def _with_words(part: Part, number: int, stub: str, terms: Sequence[Term]) -> str:
    """Return the stub of a tool call.

    If the full call has more of the typed words than the stub, add the full call.
    """
    messages = part.session.messages
    if not terms or number > len(messages):
        return stub

    def words_in(text: str) -> int:
        return sum(bool(queries.find(text, [term])) for term in terms)

    message = messages[number - 1]
    said = "" if message.role == "tool" else message.content
    whole = wording(message)[len(said) :].strip()
    return f"{stub}\n{whole}" if words_in(whole) > words_in(stub) else stub


def piece(text: str, terms: Sequence[Term], longest: int = _LONGEST) -> str:
    """Return the part of a long text around the first found word, or its beginning.

    A text of up to `longest` characters is returned unchanged.
    """
    if len(text) <= longest:
        return text
    at = next((start for start, _ in queries.find(text, terms)), 0)
    start = at - _BEFORE if at > longest - _BEFORE else 0
    left, right = "… " if start else "", " …" if start + longest < len(text) else ""
    return f"{left}{text[start : start + longest]}{right}"


def _heading(session: Session, number: int, role: str) -> str:
    """Return who wrote a message and when.

    Return "" for a tool message, which belongs to the agent's message before it.
    """
    if role == "tool" or number > len(session.messages):
        return ""
    message = session.messages[number - 1]
    who = {"user": "you", "assistant": "agent"}.get(role, role)
    return f"{who} · {local(message.timestamp)}"
