"""The history of a session in order: messages as text, and tool calls as short descriptions."""

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
"""A function that gets the number of a message, and returns the command that shows the message.

The first message has the number 1.
"""


class _Made:
    """A tool call with its result, if it has one. `number` is the number of the calling message.

    The call is parsed only when it is needed.
    """

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

    `number` is the number of the message. `messages` is the number of messages that the part shows,
    because the results of tool calls are messages too. The text of tool calls is created on first
    use, because most parts of a long history are never shown.
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
        """Create the part for the tool calls of one message.

        `messages` is 0 if another part shows the text of this message, and 1 otherwise.
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
        """The smallest possible length of the text, which is known before the text is created."""
        return len(self._past.text)

    @property
    def past(self) -> Past:
        if self._calls:
            text = "\n".join([call.told(self._show) for call in self._calls])
            self._past, self._calls = self._past._replace(text=text), ()
        return self._past


def is_abandoned(message: SessionMessage) -> bool:
    """Return whether the user went back to an earlier point and continued without this message."""
    return bool(message.extra) and message.extra.get("abandoned") is True


def history(session: Session, show: Show, *, live: bool = False) -> list[HistoryPart]:
    """Return all messages and tool calls of a session, in order.

    A tool result is in the same part as its call. A call that is both in a message and in
    `session.tool_history` appears once. If `live` is true, abandoned messages are left out. `show`
    returns the command that shows a message.
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
    """Return the tool calls of each message, by the message's number.

    Also return the numbers of the messages that are results of these calls.
    """
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
    """Return the first call without a result, to which a result without an id belongs, or None.

    If the result names its tool (`name`), the call must be of the same tool.
    """
    waiting = (call for call in calls if not call.answer and name in (None, call.call.name))
    return next(waiting, None)


def _recorded(session: Session, made: dict[int, list[_Made]]) -> dict[int, list[_Made]]:
    """Return the calls of `session.tool_history` that are in no message.

    The keys are the number of the next message. A call that is also in a message (`made`) only adds
    its result there.
    """
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
