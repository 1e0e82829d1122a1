"""The turns of a session: its messages as a web page shows them.

A page shows a tool result together with its call, and not as a separate message. Only a range of
turns, called a window, is prepared at a time, so that a long conversation opens quickly.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cortext.formats import tool_call_stubs
from cortext.formats.line_formats import place_invocations
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.safe_text import clean
from cortext.model.session import Session

_MAX_LINE = 200
_SIGNS = str.maketrans("", "", "*`#")
LONGEST = 20_000
"""How many characters a page shows of a tool result, of arguments or of structured data."""


class ShownText(NamedTuple):
    """The beginning of a text. `left` is the number of characters that were cut off after it."""

    text: str
    left: int = 0


class PageCall(NamedTuple):
    """A tool call and its result, as a page shows them.

    - `line`: a summary of the call on one line
    - `given`: all arguments of the call
    - `answer`: the number of the message with the result; 0 if there is no such message
    """

    name: str
    line: str
    given: ShownText
    result: ShownText
    answer: int
    failed: bool


class ShownTurn(NamedTuple):
    """One entry on the page: a message, or tool calls that are stored outside of the messages.

    `number` is the number of the message, counted from 1, or 0 for such tool calls. `data` is the
    structured data of the message as JSON.
    """

    number: int
    role: str
    name: str
    when: datetime
    text: str
    calls: Sequence[PageCall]
    data: ShownText
    tokens: int = 0


class Turns:
    """The turns of a session: its messages as a web page shows them.

    Each message is a turn, but a tool result is part of the turn of its call.
    `total` is the number of messages that were scanned so far.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._messages = session.messages
        self.total: int = 0
        self._result_of_call: dict[tuple[int, int], int] = {}
        self._call_of_result: dict[int, int] = {}
        self._user_messages: list[int] = []
        # Some tools reuse ids, so a later call replaces an earlier call with the same id.
        self._open_calls: dict[str, tuple[int, int]] = {}
        self._calls_without_result: list[tuple[int, int]] = []
        self._call_ids: set[str] = set()
        self.extend()
        self._outside_calls: dict[int, list[ToolInvocation]] = {}
        for position, invocation in place_invocations(session):
            if invocation.id not in self._call_ids:
                self._outside_calls.setdefault(position + 1, []).append(invocation)

    def extend(self) -> None:
        """Scan the messages that were added to the session since the last scan."""
        for number in range(self.total + 1, len(self._messages) + 1):
            self._pair(number)
            if self._messages[number - 1].role == "user":
                self._user_messages.append(number)
        # Set last, so that other threads use only messages that were scanned completely.
        self.total = len(self._messages)

    def window(self, first: int, last: int) -> Iterator[ShownTurn]:
        """Yield the turns of the messages with the numbers `first` to `last`.

        A tool result appears with its call, even if the number of the result is above `last`.
        """
        for number in range(max(first, 1), min(last, self.total) + 1):
            yield from self._outside_turn(number)
            if number not in self._call_of_result:
                yield self._turn(number)
        if last >= self.total:
            yield from self._outside_turn(self.total + 1)

    def shown_in(self, number: int) -> int:
        """Return the number of the turn in which the message `number` is shown.

        A tool result is shown in the turn of its call. Any other message has its own turn.
        """
        return self._call_of_result.get(number, number)

    def changed_since(self, total: int) -> int:
        """Return the number of the first turn that has changed since there were `total` messages.

        An earlier turn changes if a new message is the result of its tool call.
        """
        return min(map(self.shown_in, range(total + 1, self.total + 1)), default=total + 1)

    def requests(self, around: int, most: int) -> list[tuple[int, str]]:
        """Return the user's messages for a table of contents: their numbers and first words.

        If there are more than `most` such messages, return those nearest to the message number
        `around`.
        """
        before = bisect_left(self._user_messages, around)
        start = max(min(before - most // 2, len(self._user_messages) - most), 0)
        numbers = self._user_messages[start : start + most]
        return [(n, one_line(self._messages[n - 1].content, 90)) for n in numbers]

    def text(self, number: int) -> str:
        """Return the full text of the message with this number."""
        return self._messages[number - 1].content

    def difference(self, other: Turns) -> Iterator[int]:
        """Yield the numbers of the turns that are missing in `other` or look different there."""
        pairs = zip(self._messages, other._messages, strict=False)
        for number, (mine, theirs) in enumerate(pairs, 1):
            if mine is not theirs and _visible_fields(mine) != _visible_fields(theirs):
                yield self.shown_in(number)
        yield from map(self.shown_in, range(min(self.total, other.total) + 1, self.total + 1))
        for number in self._outside_calls.keys() | other._outside_calls.keys():
            if self._outside_calls.get(number) != other._outside_calls.get(number):
                yield number

    def _pair(self, number: int) -> None:
        """Scan one message: remember its tool calls, or connect a tool result with its call."""
        message = self._messages[number - 1]
        if message.tool_calls:
            self._calls_without_result = []
            for index, data in enumerate(message.tool_calls):
                id = tool_call_stubs.id_of(data)
                self._call_ids.add(id)
                self._open_calls[id] = number, index
                self._calls_without_result.append((number, index))
        elif message.role == "tool":
            id, nameless = message.tool_call_id, self._calls_without_result
            call = self._open_calls.pop(id, None) if id else (nameless.pop(0) if nameless else None)
            if call and call not in self._result_of_call:
                self._result_of_call[call] = number
                self._call_of_result[number] = call[0]

    def _turn(self, number: int) -> ShownTurn:
        message = self._messages[number - 1]
        calls = [
            self._call(number, index, data) for index, data in enumerate(message.tool_calls or ())
        ]
        data = "" if message.structured_data is None else _to_text(message.structured_data)
        name, tokens = clean(message.name or "", lines=False), message.tokens or 0
        return ShownTurn(
            *(number, message.role, name, message.timestamp, message.content, calls),
            *(_shorten(data), tokens),
        )

    def _call(self, number: int, index: int, data: dict[str, Any]) -> PageCall:
        answer = self._result_of_call.get((number, index), 0)
        result = tool_call_stubs.own_result(data)
        if result is None and answer:
            result = tool_call_stubs.read_result(self._messages[answer - 1])
        shown = self._messages[answer - 1].content if answer else None
        return _page_call(tool_call_stubs.read_call(data), result, answer, shown)

    def _outside_turn(self, number: int) -> Iterator[ShownTurn]:
        found = self._outside_calls.get(number)
        if found:
            calls = [_page_call(*tool_call_stubs.read_invocation(one), 0, None) for one in found]
            yield ShownTurn(0, "tool", "", found[0].timestamp, "", calls, ShownText(""))


def first_difference(old: Turns, new: Turns) -> int | None:
    """Return the number of the first turn that is different in two readings of a conversation.

    Return None if all turns look the same.
    """
    return min((*old.difference(new), *new.difference(old)), default=None)


def _visible_fields(message: SessionMessage) -> tuple[object, ...]:
    """Return the fields of a message that a page shows, to compare two messages.

    The time is left out. If the file has no time for a message, the message gets a different time
    whenever the file is read.
    """
    return (
        *(message.role, message.content, message.name, message.tokens, message.tool_calls),
        *(message.tool_call_id, message.structured_data),
    )


def one_line(text: str, longest: int) -> str:
    """Return a text on one line, without markdown signs, and with at most `longest` characters."""
    line = " ".join(clean(text[: 4 * longest].translate(_SIGNS), lines=False).split())
    return f"{line[: longest - 1]}…" if len(line) > longest else line


def _page_call(
    call: tool_call_stubs.ToolCall,
    result: tool_call_stubs.ToolResult | None,
    answer: int,
    text: str | None,
) -> PageCall:
    lines = [line.strip() for line in tool_call_stubs.stub(call, result, "").split("\n")]
    # Skip the lines that quote the output, because the page shows the whole result.
    line = " · ".join([lines[0], *(line for line in lines[1:] if line and line[0] != ">")])
    name = clean(call.name, lines=False)
    given = "\n".join(f"{key}: {_to_text(value)}" for key, value in call.arguments.items())
    if text is None and result is not None:
        text = "\n".join(filter(None, (_to_text(result.value), result.error)))
    return PageCall(
        name=name,
        line=clean(line, lines=False).removeprefix(name).strip(" :·")[:_MAX_LINE],
        given=_shorten(given),
        result=_shorten(text or ""),
        answer=answer,
        failed=result is not None and result.failed,
    )


def _shorten(text: str) -> ShownText:
    return ShownText(text[:LONGEST], max(len(text) - LONGEST, 0))


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_codec.pretty(value).decode("utf-8", "replace")
