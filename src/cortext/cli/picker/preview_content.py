"""Read and lay out the content of the picker's preview. A worker thread runs this code.

A preview has only some messages: the last messages, or the messages around the typed words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from cortext.catalog.fulltext.fulltext_index import MARKDOWN, SIDE
from cortext.catalog.row import ConversationRow
from cortext.cli.terminal_text import local
from cortext.cli.views import conversation_render
from cortext.cli.views.conversation_render import PageBlock
from cortext.durability.read_files import open_file, read_file, read_range
from cortext.errors import CortextError
from cortext.features.listing.session_of_row import read, read_all
from cortext.formats.folder import FOLDER
from cortext.formats.history_in_order import history
from cortext.formats.message_lines import decode_lines
from cortext.formats.text_search import search_query as queries
from cortext.formats.text_search.search_query import Term
from cortext.formats.text_search.searchable_text import searchable_text_of, subagents_text
from cortext.model.message import SessionMessage
from cortext.model.safe_text import clean
from cortext.model.session import Session
from cortext.stores.workspace_layout import document_in
from cortext.workspace.workspace import Workspace

_MAX_MESSAGES = 24
"""The most messages in a preview."""
_MAX_DOCUMENT = 24_000
"""The most characters of a conversation's document in a preview."""
_MAX_RESULT = 1000
"""The most characters of a tool's output in a preview."""
_MAX_MESSAGE = 6000
"""The most characters of a message in a preview."""
_MAX_BEFORE = 1000
"""The number of characters to show before the found words in a long message."""
_MAX_REQUEST = 500
"""The most characters of the first request above a preview."""
_MAX_START = 1 << 16
"""The most bytes to read for the first request."""
_NO_MESSAGES = "No messages yet."
_MARK_STYLE = "bold yellow reverse"


class Part(msgspec.Struct, frozen=True):
    """The part of a session that a preview shows.

    `session` has only the shown messages. `first` is the number of the first shown message in the
    whole session. `after` is the number of messages after the last shown message. `places` are the
    numbers of all messages with the typed words. `number` is the number of the message to scroll
    to, or 0 for none. `request` is the first message of the user, or "" if it was not read.
    """

    session: Session
    first: int = 1
    after: int = 0
    places: Sequence[int] = ()
    number: int = 0
    request: str = ""

    @property
    def count(self) -> int:
        """The number of messages in the whole session."""
        return self.first - 1 + len(self.session.messages) + self.after


class PreviewPage(msgspec.Struct, frozen=True):
    """The lines of a preview.

    For each line, `numbers` has the number of its message. `matches` are the indexes of the lines
    with marked words. If `from_end` is True, the preview starts at the end of the page. `places`
    are the numbers of the messages with the typed words, the last message first. `number` is the
    number of the message to scroll to, or 0 for none. `count` is the number of messages in the
    conversation, or None if it was not read. `request` is the first message of the user, or "".
    """

    lines: Sequence[Text]
    numbers: Sequence[int] = ()
    matches: Sequence[int] = ()
    from_end: bool = False
    places: Sequence[int] = ()
    number: int = 0
    count: int | None = None
    request: str = ""

    def line_of(self, number: int) -> int | None:
        """Return the index of the line to scroll to, in order to show message `number`.

        This is the first line of the message that has a marked word. If the message has no marked
        word, it is the first line of the message. If `number` is 0, it is the first line of the
        page that has a marked word. Return None if the page has no such line.
        """
        marked = (at for at in self.matches if self.numbers[at] == number or not number)
        first_lines = (at for at, other in enumerate(self.numbers) if number and other == number)
        return next(marked, next(first_lines, None))


class PreviewRequest(msgspec.Struct, frozen=True):
    """A request for a preview of the conversation `row`.

    `width` is the number of columns, and `text` has the words to mark. `number` is the number of
    the message to scroll to. 0 means no message, -1 means the document of the conversation, and -2
    means the text of its sub-agents.
    """

    row: ConversationRow
    width: int
    text: str
    number: int = 0


def make(request: PreviewRequest) -> PreviewPage:
    """Return the preview for a request.

    If the conversation cannot be read, the preview shows the error.
    """
    try:
        page = _make_unmarked(request)
    except (CortextError, OSError) as error:
        page = PreviewPage([Text(clean(str(error)), style="italic")], [0])
    return _mark_words(page, _terms(request.text))


def _mark_words(page: PreviewPage, terms: Sequence[Term]) -> PreviewPage:
    """Return the page with marked search terms.

    A phrase is also marked if it continues on the next line.
    """
    whole = Text("\n").join(page.lines)
    for start, end in queries.find(whole.plain, terms):
        whole.stylize(_MARK_STYLE, start, end)
    lines = [*whole.split("\n", allow_blank=True)]
    matches = [
        at for at, line in enumerate(lines) if any(span.style == _MARK_STYLE for span in line.spans)
    ]
    return replace(page, lines=lines, matches=matches)


def _terms(text: str) -> Sequence[Term]:
    """Return the search terms of the typed text. The last word may be incomplete."""
    return queries.parse(as_typed(text)).terms


def as_typed(text: str) -> str:
    """Return a search query for the typed text.

    The last word of the query also finds longer words that start with it, because the user may
    still be typing this word.
    """
    return f"{text}*" if text[-1:].isalnum() else text


def _make_unmarked(request: PreviewRequest) -> PreviewPage:
    """Return the preview for a request, without marked words."""
    row = request.row
    if not row.status or request.number in (MARKDOWN, SIDE):
        other = _sub_agent_text(row) if request.number == SIDE else _read_document(row)
        shown = clean(piece(other, _terms(request.text), _MAX_DOCUMENT)) or _NO_MESSAGES
        return _wrap_text(Text(shown, overflow="fold"), request.width)
    part = _read_part(request)
    lines, numbers = _layout_messages(part, request)
    if part.first > 1:
        lines = [Text(_omitted_note(part.first - 1, "earlier"), style="dim"), Text(), *lines]
        numbers = [0, 0, *numbers]
    if part.after:
        lines += [Text(), Text(_omitted_note(part.after, "later"), style="dim")]
        numbers += [0, 0]
    return PreviewPage(
        lines, numbers, (), not part.after, part.places, part.number, part.count, part.request
    )


def _wrap_text(text: Text, width: int) -> PreviewPage:
    lines = [*text.wrap(Console(width=width), width)]
    return PreviewPage(lines, [0] * len(lines))


def _layout_messages(part: Part, request: PreviewRequest) -> tuple[list[Text], list[int]]:
    """Return the lines of all messages in `part`, and for each line the number of its message."""
    lines: list[Text] = []
    numbers: list[int] = []
    for number, block in blocks(part, _terms(request.text)):
        page = conversation_render.ConversationPage("", [], [block])
        _, *drawn = conversation_render.rendered(page, width=request.width, colour=True)
        text = "\n".join(drawn) if lines else "\n".join(drawn).lstrip("\n")
        new = Text.from_ansi(text).split("\n", allow_blank=True) if drawn else ()
        lines += new
        numbers += [number] * len(new)
    return lines or [Text(_NO_MESSAGES)], numbers or [0]


def _omitted_note(count: int, when: str) -> str:
    return f"… {count} {when} message{'s' if count > 1 else ''}"


def _read_part(request: PreviewRequest) -> Part:
    """Read the messages to show: the last messages, or the messages around the typed words."""
    row = request.row
    if not row.tool and not request.text and row.messages > 2 * _MAX_MESSAGES:
        last = Workspace(row.workspace).store.tail(row.path, _MAX_MESSAGES)
        first = row.messages - len(last) + 1
        return Part(Session(row.key, messages=last), first, request=_read_request(row))
    session = _read_session(row)
    messages, count = session.messages, len(session.messages)
    places = _find_matches(messages, as_typed(request.text))
    number = request.number if 0 < request.number <= count else next(iter(places), 0)
    last = max(count - _MAX_MESSAGES, 0)
    start = min(max(number - 3, 0), last) if number else last
    end = min(start + _MAX_MESSAGES, count)
    if end - start < count:
        session = Session(row.key, messages=messages[start:end])
    return Part(session, start + 1, count - end, places, number, _first_request(messages))


def _read_request(row: ConversationRow) -> str:
    """Return the beginning of the user's first message. Read only the start of the file."""
    fd = open_file(row.place.lines)
    try:
        start = read_range(fd, 0, _MAX_START)
    finally:
        os.close(fd)
    return _first_request(decode_lines(start, FOLDER.records).messages)


def _first_request(messages: Sequence[SessionMessage]) -> str:
    """Return the first words of the user, on one line; "" if there is no message of the user."""
    asked = next((message.content for message in messages if message.role == "user"), "")
    return " ".join(clean(asked[:_MAX_REQUEST], lines=False).split())


def _read_session(row: ConversationRow) -> Session:
    return read(row, _MAX_RESULT)[0]


def _find_matches(messages: Sequence[SessionMessage], text: str) -> list[int]:
    """Return the numbers of the messages that match the query `text`, the last message first.

    If no message matches, return the numbers of the messages with the most words of the query.
    """
    query = queries.parse(text)
    if not query:
        return []
    by_score: dict[int, list[int]] = {}
    for number in range(len(messages), 0, -1):
        content = searchable_text_of(messages[number - 1])
        matched_terms = [bool(queries.find(content, [term])) for term in query.terms]
        is_found = query.whole and _contains(content, query.whole) and query.is_in(content)
        score = len(matched_terms) + 1 if is_found else sum(matched_terms)
        by_score.setdefault(score, []).append(number)
    most = max(by_score, default=0)
    return by_score[most] if most else []


def _contains(text: str, part: Term | queries.Clause) -> bool:
    if isinstance(part, queries.Term):
        return bool(queries.find(text, [part]))
    test = any if part.either else all
    is_wanted = test(_contains(text, each) for each in part.wanted)
    return is_wanted and not any(_contains(text, each) for each in part.unwanted)


def _read_document(row: ConversationRow) -> str:
    name = "" if row.tool else document_in(row.place.folder)
    if not name:
        return ""
    return read_file(os.path.join(row.place.folder, name)).decode("utf-8", "replace")


def _sub_agent_text(row: ConversationRow) -> str:
    return subagents_text(read_all(row, _MAX_RESULT).side)


def blocks(part: Part, terms: Sequence[Term]) -> Iterator[tuple[int, PageBlock]]:
    """Yield the blocks (parts of the page) of a preview, each with the number of its message.

    `terms` are the typed words. A tool call appears as a stub: its name and the beginning of its
    result. If the result has the typed words, the full result follows as a separate block.
    """
    last_heading, before = "", part.first - 1
    parts = history(part.session, lambda number: f"message {number + before}")
    hidden = _hidden_matches(part, {one.number for one in parts})
    for one in parts:
        while hidden and hidden[0] < one.number:
            yield _result_block(part, hidden.pop(0), terms)
        past = one.past
        heading = _heading(part.session, one.number, past.role)
        is_markdown = past.role in ("user", "assistant")
        shown = "" if heading == last_heading else heading
        text = past.text if is_markdown else _expand_stub(part, one.number, past.text, terms)
        yield one.number + before, PageBlock(shown, past.role, piece(text, terms), is_markdown)
        last_heading = heading if past.role != "tool" else last_heading
    for number in hidden:
        yield _result_block(part, number, terms)


def _hidden_matches(part: Part, shown: Set[int]) -> list[int]:
    """Return the numbers of the matching messages that have no block of their own.

    A matching message has the typed words, or is the message to scroll to. It has no block if it is
    the result of a tool call, because the preview shows only the beginning of the result. `shown`
    are the numbers of the messages with a block. All numbers start with 1 at the first message of
    `part`.
    """
    hits = {number - part.first + 1 for number in (*part.places, part.number)}
    return [n for n in range(1, len(part.session.messages) + 1) if n in hits and n not in shown]


def _result_block(part: Part, number: int, terms: Sequence[Term]) -> tuple[int, PageBlock]:
    content = part.session.messages[number - 1].content
    return number + part.first - 1, PageBlock("", "tool", piece(content, terms))


def _expand_stub(part: Part, number: int, stub: str, terms: Sequence[Term]) -> str:
    """Return the text to show for a tool call.

    `stub` is the short form of the call. If the full call has more of the search terms than the
    stub, return the stub and then the full call. Otherwise return the stub. `number` is the number
    of the message within `part`.
    """
    messages = part.session.messages
    if not terms or number > len(messages):
        return stub

    def words_in(text: str) -> int:
        return sum(bool(queries.find(text, [term])) for term in terms)

    message = messages[number - 1]
    content = "" if message.role == "tool" else message.content
    whole = searchable_text_of(message)[len(content) :].strip()
    return f"{stub}\n{whole}" if words_in(whole) > words_in(stub) else stub


def piece(text: str, terms: Sequence[Term], longest: int = _MAX_MESSAGE) -> str:
    """Cut a text to `longest` characters around the first search term that it contains.

    If the text contains none of the `terms`, return its beginning. A text with at most `longest`
    characters is returned unchanged.
    """
    if len(text) <= longest:
        return text
    at = next((start for start, _ in queries.find(text, terms)), 0)
    start = at - _MAX_BEFORE if at > longest - _MAX_BEFORE else 0
    left, right = "… " if start else "", " …" if start + longest < len(text) else ""
    return f"{left}{text[start : start + longest]}{right}"


def _heading(session: Session, number: int, role: str) -> str:
    """Return the heading of a message: its author and its time, such as `you · 2026-01-31 14:05`.

    Return "" for a tool message, because it appears below the agent's message before it.
    """
    if role == "tool" or number > len(session.messages):
        return ""
    message = session.messages[number - 1]
    who = {"user": "you", "assistant": "agent"}.get(role, role)
    return f"{who} · {local(message.timestamp)}"
