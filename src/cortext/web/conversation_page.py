"""The messages of a session as a page shows them, with each result beside its tool call.

All messages are scanned once. A message is prepared only when a window shows it, so the cost of a
long conversation depends on what is visible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cortext.formats import tool_call_stubs
from cortext.formats.head_and_lines import place_invocations
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.safe_text import clean
from cortext.model.session import Session

_LONGEST_LINE = 200
_SIGNS = str.maketrans("", "", "*`#")
LONGEST = 20_000
"""The most characters of a result or an argument on the page. The full text has its own URL."""


class ShownText(NamedTuple):
    """A text, and how many of its characters are left out."""

    text: str
    left: int = 0


class PageCall(NamedTuple):
    """A tool call, on one line and in full.

    `answer` is the number of the message with the result, 0 if there is no such message.
    """

    name: str
    line: str
    given: ShownText
    result: ShownText
    answer: int
    failed: bool


class ShownTurn(NamedTuple):
    """A message, or tool calls that are recorded outside of messages.

    `number` is the number of the message, counted from 1; 0 for such tool calls.
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
    """The turns of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._messages = session.messages
        self.total: int = 0
        self._answers: dict[tuple[int, int], int] = {}
        self._answered: dict[int, int] = {}
        self._asked: list[int] = []
        self._waiting: dict[str, tuple[int, int]] = {}  # the latest call: some tools reuse ids
        self._nameless: list[tuple[int, int]] = []
        self._ids: set[str] = set()
        self.extend()
        self._beside: dict[int, list[ToolInvocation]] = {}
        for position, invocation in place_invocations(session):
            if invocation.id not in self._ids:
                self._beside.setdefault(position + 1, []).append(invocation)

    def extend(self) -> None:
        """Scan the messages that the session got since the last scan."""
        for number in range(self.total + 1, len(self._messages) + 1):
            self._pair(number)
            if self._messages[number - 1].role == "user":
                self._asked.append(number)
        # Set last, so that other threads see only messages that are paired.
        self.total = len(self._messages)

    def window(self, first: int, last: int) -> Iterator[ShownTurn]:
        """Yield the turns with the numbers `first` to `last`.

        A result appears with its call, even if the result itself is outside of the window.
        """
        for number in range(max(first, 1), min(last, self.total) + 1):
            yield from self._recorded(number)
            if number not in self._answered:
                yield self._turn(number)
        if last >= self.total:
            yield from self._recorded(self.total + 1)

    def shown_in(self, number: int) -> int:
        """Return the number of the turn that shows a message. A result is shown with its call."""
        return self._answered.get(number, number)

    def changed_since(self, total: int) -> int:
        """Return the first turn that looks different since there were `total` messages."""
        return min(map(self.shown_in, range(total + 1, self.total + 1)), default=total + 1)

    def requests(self, around: int, most: int) -> list[tuple[int, str]]:
        """Return the numbers and the beginnings of the user's messages.

        If there are more than `most`, return those around the message `around`.
        """
        before = bisect_left(self._asked, around)
        start = max(min(before - most // 2, len(self._asked) - most), 0)
        numbers = self._asked[start : start + most]
        return [(n, one_line(self._messages[n - 1].content, 90)) for n in numbers]

    def text(self, number: int) -> str:
        """Return the full text of a message."""
        return self._messages[number - 1].content

    def difference(self, other: Turns) -> Iterator[int]:
        """Yield the numbers of the turns that `other` lacks or shows differently."""
        pairs = zip(self._messages, other._messages, strict=False)
        for number, (mine, theirs) in enumerate(pairs, 1):
            if mine is not theirs and _look(mine) != _look(theirs):
                yield self.shown_in(number)
        yield from map(self.shown_in, range(min(self.total, other.total) + 1, self.total + 1))
        for number in self._beside.keys() | other._beside.keys():
            if self._beside.get(number) != other._beside.get(number):
                yield number

    def _pair(self, number: int) -> None:
        """Pair a result with its call, or remember the calls of a message."""
        message = self._messages[number - 1]
        if message.tool_calls:
            self._nameless = []
            for index, data in enumerate(message.tool_calls):
                id = tool_call_stubs.id_of(data)
                self._ids.add(id)
                self._waiting[id] = number, index
                self._nameless.append((number, index))
        elif message.role == "tool":
            id, nameless = message.tool_call_id, self._nameless
            call = self._waiting.pop(id, None) if id else (nameless.pop(0) if nameless else None)
            if call and call not in self._answers:
                self._answers[call] = number
                self._answered[number] = call[0]

    def _turn(self, number: int) -> ShownTurn:
        message = self._messages[number - 1]
        calls = [
            self._call(number, index, data) for index, data in enumerate(message.tool_calls or ())
        ]
        data = "" if message.structured_data is None else _text(message.structured_data)
        name, tokens = clean(message.name or "", lines=False), message.tokens or 0
        return ShownTurn(
            *(number, message.role, name, message.timestamp, message.content, calls),
            *(_cut(data), tokens),
        )

    def _call(self, number: int, index: int, data: dict[str, Any]) -> PageCall:
        answer = self._answers.get((number, index), 0)
        result = tool_call_stubs.own_result(data)
        if result is None and answer:
            result = tool_call_stubs.read_result(self._messages[answer - 1])
        shown = self._messages[answer - 1].content if answer else None
        return _shown(tool_call_stubs.read_call(data), result, answer, shown)

    def _recorded(self, number: int) -> Iterator[ShownTurn]:
        found = self._beside.get(number)
        if found:
            calls = [_shown(*tool_call_stubs.read_invocation(one), 0, None) for one in found]
            yield ShownTurn(0, "tool", "", found[0].timestamp, "", calls, ShownText(""))


def first_difference(old: Turns, new: Turns) -> int | None:
    """Return the first turn that looks different after a conversation was read again.

    Return None if all turns look the same.
    """
    return min((*old.difference(new), *new.difference(old)), default=None)


def _look(message: SessionMessage) -> tuple[object, ...]:
    """Return everything that a turn shows of a message, except its time.

    A record without a time gets the time of reading, which changes.
    """
    return (
        *(message.role, message.content, message.name, message.tokens, message.tool_calls),
        *(message.tool_call_id, message.structured_data),
    )


def one_line(text: str, longest: int) -> str:
    """Return the beginning of a text on one line, without markdown characters."""
    line = " ".join(clean(text[: 4 * longest].translate(_SIGNS), lines=False).split())
    return f"{line[: longest - 1]}…" if len(line) > longest else line


def _shown(
    call: tool_call_stubs.ToolCall,
    result: tool_call_stubs.ToolResult | None,
    answer: int,
    text: str | None,
) -> PageCall:
    lines = [line.strip() for line in tool_call_stubs.stub(call, result, "").split("\n")]
    # Skip quoted output: the result contains it.
    line = " · ".join([lines[0], *(line for line in lines[1:] if line and line[0] != ">")])
    name = clean(call.name, lines=False)
    given = "\n".join(f"{key}: {_text(value)}" for key, value in call.arguments.items())
    if text is None and result is not None:
        text = "\n".join(filter(None, (_text(result.value), result.error)))
    return PageCall(
        name=name,
        line=clean(line, lines=False).removeprefix(name).strip(" :·")[:_LONGEST_LINE],
        given=_cut(given),
        result=_cut(text or ""),
        answer=answer,
        failed=result is not None and result.failed,
    )


def _cut(text: str) -> ShownText:
    return ShownText(text[:LONGEST], max(len(text) - LONGEST, 0))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_codec.pretty(value).decode("utf-8", "replace")
