"""The history of a session in order: messages as text, tool calls as short stubs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from cortext.formats import tool_call_stubs
from cortext.formats.briefing import Past
from cortext.formats.head_and_lines import place_invocations
from cortext.formats.tool_call_stubs import ToolCall, ToolResult
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session

Show = Callable[[int], str]
"""A function that returns the command which shows the message with a number, counted from 1."""


class _Made:
    """A tool call with its result, if there is one. The call is parsed only when it is needed."""

    __slots__ = ("_call", "answer", "number", "reply", "result", "timestamp")

    def __init__(self, call: dict[str, Any] | ToolCall, number: int, timestamp: datetime) -> None:
        self._call, self.number, self.timestamp = call, number, timestamp
        self.result: ToolResult | None = None
        self.reply: SessionMessage | None = None
        self.answer = 0  # the number of the reply message

    @property
    def call(self) -> ToolCall:
        if isinstance(self._call, dict):
            self.result = self.result or tool_call_stubs.own_result(self._call)
            self._call = tool_call_stubs.read_call(self._call)
        return self._call

    def told(self, show: Show) -> str:
        call, result, where = self.call, self.result, show(self.number)
        if self.reply:
            result = tool_call_stubs.read_result(self.reply)
            where += f", result: message {self.answer}"
        return tool_call_stubs.stub(call, result, where)


class HistoryPart:
    """A part of a history: a message, or the tool calls of a message.

    `number` is the number of the message, and `messages` is how many messages the part represents.
    The text of tool calls is created on first use, because most parts of a long history are never
    shown.
    """

    __slots__ = ("_calls", "_past", "_show", "messages", "number")

    def __init__(self, number: int, messages: int, past: Past) -> None:
        self.number: int = number
        self.messages: int = messages
        self._past = past
        self._calls: Sequence[_Made] = ()
        self._show: Show = str

    @classmethod
    def of_calls(cls, calls: Sequence[_Made], messages: int, show: Show) -> HistoryPart:
        """Return the part for the calls of one message.

        `messages` is 1 if no other part represents the message itself, and 0 otherwise.
        """
        messages += sum([call.answer > 0 for call in calls])
        part = cls(calls[0].number, messages, Past("tool", calls[0].timestamp, ""))
        part._calls, part._show = calls, show
        return part

    @property
    def role(self) -> str:
        return self._past.role

    @property
    def least(self) -> int:
        """A lower bound for the number of characters of the text."""
        return len(self._past.text)

    @property
    def past(self) -> Past:
        if self._calls:
            text = "\n".join([call.told(self._show) for call in self._calls])
            self._past, self._calls = self._past._replace(text=text), ()
        return self._past


def is_abandoned(message: SessionMessage) -> bool:
    """Return whether the person went back before this message and continued differently."""
    return bool(message.extra) and message.extra.get("abandoned") is True


def history(session: Session, show: Show, *, live: bool = False) -> list[HistoryPart]:
    """Return every message and every recorded tool call, in order.

    A result is shown together with its call. A tool call that is recorded both in a message and
    beside it appears once. With `live`, abandoned messages are left out, as a model should see the
    history.
    """
    made, answers = _calls(session.messages)
    recorded = _recorded(session, made)
    parts: list[HistoryPart] = []
    for number, message in enumerate(session.messages, 1):
        if number in recorded:
            parts.append(HistoryPart.of_calls(recorded[number], 0, show))
        if number in answers or (live and is_abandoned(message)):
            continue
        calls = made.get(number)
        speaks = bool(message.content) or not calls or message.role == "user"
        if speaks:
            text = message.content
            if message.role == "tool":
                result = tool_call_stubs.read_result(message)
                text = tool_call_stubs.lone_result(message.name or "tool", result, show(number))
            parts.append(HistoryPart(number, 1, Past(message.role, message.timestamp, text)))
        if calls:
            parts.append(HistoryPart.of_calls(calls, 0 if speaks else 1, show))
    if trailing := recorded.get(len(session.messages) + 1):
        parts.append(HistoryPart.of_calls(trailing, 0, show))
    return parts


def _calls(messages: Sequence[SessionMessage]) -> tuple[dict[int, list[_Made]], set[int]]:
    """Return the calls by the number of their message, and the numbers of their result messages."""
    made: dict[int, list[_Made]] = {}
    answers: set[int] = set()
    waiting: dict[str, _Made] = {}  # the latest call of each id: some tools reuse ids in each turn
    latest: list[_Made] = []
    for number, message in enumerate(messages, 1):
        if message.tool_calls:
            latest = [_Made(data, number, message.timestamp) for data in message.tool_calls]
            waiting |= zip(map(tool_call_stubs.id_of, message.tool_calls), latest, strict=True)
            made[number] = latest
        elif message.role == "tool":
            id = message.tool_call_id
            call = waiting.pop(id, None) if id else _unanswered(latest, message.name)
            if call and not call.answer:
                call.reply, call.answer = message, number
                answers.add(number)
    return made, answers


def _unanswered(calls: list[_Made], name: str | None) -> _Made | None:
    """Return the first call without a result, for a result without an id; None if there is none."""
    waiting = (call for call in calls if not call.answer and name in (None, call.call.name))
    return next(waiting, None)


def _recorded(session: Session, made: dict[int, list[_Made]]) -> dict[int, list[_Made]]:
    """Return the recorded tool calls that are in no message, by the number of the next message."""
    if not session.tool_history:
        return {}
    same: dict[str, _Made] = {}
    alike: dict[tuple[str, bytes], list[_Made]] = {}
    for number in reversed(made):
        listed = session.messages[number - 1].tool_calls or ()
        same.update(zip(map(tool_call_stubs.id_of, listed), made[number], strict=True))
        for call in reversed(made[number]):
            alike.setdefault(_key(call.call), []).append(call)
    found: dict[int, list[_Made]] = {}
    for position, invocation in place_invocations(session):
        call, result = tool_call_stubs.read_invocation(invocation)
        twins = alike.get(_key(call)) if alike else None
        twin = same.get(invocation.id) or (twins.pop() if twins else None)
        if twin is None:
            number = min(position + 1, max(len(session.messages), 1))
            lone = _Made(call, number, invocation.timestamp)
            lone.result = result
            found.setdefault(position + 1, []).append(lone)
        else:
            twin.result = result
    return found


def _key(call: ToolCall) -> tuple[str, bytes]:
    return call.name, json_codec.encode(call.arguments)
