"""The history of a session in order: messages as text, and tool calls as short descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from cortext.formats import tool_call_stubs
from cortext.formats.history_text import Past
from cortext.formats.line_formats import place_invocations
from cortext.formats.tool_call_stubs import ToolCall, ToolResult
from cortext.model import json_codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session

Show = Callable[[int], str]
"""A function that gets the number of a message, and returns the command that shows the message.

The first message has the number 1.
"""


class _CallRecord:
    """A tool call and its result.

    `number` is the number of the message that contains the call. The result is either in `result`,
    or in the message `reply` with the number `reply_number`. The call is parsed at its first use.
    """

    __slots__ = ("_call", "number", "reply", "reply_number", "result", "timestamp")

    def __init__(self, call: dict[str, Any] | ToolCall, number: int, timestamp: datetime) -> None:
        self._call, self.number, self.timestamp = call, number, timestamp
        self.result: ToolResult | None = None
        self.reply: SessionMessage | None = None
        self.reply_number = 0  # 0 if there is no reply

    @property
    def call(self) -> ToolCall:
        if isinstance(self._call, dict):
            self.result = self.result or tool_call_stubs.own_result(self._call)
            self._call = tool_call_stubs.read_call(self._call)
        return self._call

    def describe(self, show: Show) -> str:
        call, result, where = self.call, self.result, show(self.number)
        if self.reply:
            result = tool_call_stubs.read_result(self.reply)
            where += f", result: message {self.reply_number}"
        return tool_call_stubs.stub(call, result, where)


class HistoryPart:
    """A part of a history: the text of a message, or the tool calls of a message.

    `number` is the position of the message, from 1. `messages` is the number of messages that the
    part shows. This number can be more than 1, because each result of a tool call is also a
    message. The text of tool calls is created at its first use, because most parts of a long
    history are never shown.
    """

    __slots__ = ("_calls", "_past", "_show", "messages", "number")

    def __init__(self, number: int, messages: int, past: Past) -> None:
        self.number: int = number
        self.messages: int = messages
        self._past = past
        self._calls: Sequence[_CallRecord] = ()
        self._show: Show = str

    @classmethod
    def of_calls(cls, calls: Sequence[_CallRecord], messages: int, show: Show) -> HistoryPart:
        """Return a part for the tool calls of one message.

        `messages` is how many messages the part shows without the results: 1 if no other part shows
        the message of the calls, otherwise 0. Each message with a result of these calls is counted
        in addition. `show` returns the command that shows a message.
        """
        messages += sum([call.reply_number > 0 for call in calls])
        part = cls(calls[0].number, messages, Past("tool", calls[0].timestamp, ""))
        part._calls, part._show = calls, show
        return part

    @property
    def role(self) -> str:
        return self._past.role

    @property
    def least(self) -> int:
        """A lower limit for the length of the text. It is known before the text is created."""
        return len(self._past.text)

    @property
    def past(self) -> Past:
        if self._calls:
            text = "\n".join([call.describe(self._show) for call in self._calls])
            self._past, self._calls = self._past._replace(text=text), ()
        return self._past


def is_abandoned(message: SessionMessage) -> bool:
    """Return whether the user abandoned a message by going back to an earlier message."""
    return bool(message.extra) and message.extra.get("abandoned") is True


def history(session: Session, show: Show, *, live: bool = False) -> list[HistoryPart]:
    """Return all messages and tool calls of a session, in order.

    A tool call and its result are in the same part. A call that is both in a message and in
    `session.tool_history` appears only once. `show` returns the command that shows the message with
    a given number. If `live` is true, the function leaves out the messages that the user abandoned
    by going back to an earlier message.
    """
    by_message, result_numbers = _calls_by_message(session.messages)
    outside = _calls_outside_messages(session, by_message)
    parts: list[HistoryPart] = []
    for number, message in enumerate(session.messages, 1):
        if number in outside:
            parts.append(HistoryPart.of_calls(outside[number], 0, show))
        if number in result_numbers or (live and is_abandoned(message)):
            continue
        calls = by_message.get(number)
        has_own_part = bool(message.content) or not calls or message.role == "user"
        if has_own_part:
            text = message.content
            if message.role == "tool":
                result = tool_call_stubs.read_result(message)
                text = tool_call_stubs.describe_result_without_call(
                    message.name or "tool", result, show(number)
                )
            parts.append(HistoryPart(number, 1, Past(message.role, message.timestamp, text)))
        if calls:
            parts.append(HistoryPart.of_calls(calls, 0 if has_own_part else 1, show))
    if trailing := outside.get(len(session.messages) + 1):
        parts.append(HistoryPart.of_calls(trailing, 0, show))
    return parts


def _calls_by_message(
    messages: Sequence[SessionMessage],
) -> tuple[dict[int, list[_CallRecord]], set[int]]:
    """Return the tool calls of each message, by the number of the message.

    The second result has the numbers of the messages that are results of these calls. A result
    belongs to the call with the same id. A result without an id belongs to the first call that has
    no result yet.
    """
    by_message: dict[int, list[_CallRecord]] = {}
    result_numbers: set[int] = set()
    # The latest call of each id. Some tools reuse the ids in each turn.
    waiting: dict[str, _CallRecord] = {}
    latest: list[_CallRecord] = []
    for number, message in enumerate(messages, 1):
        if message.tool_calls:
            latest = [_CallRecord(data, number, message.timestamp) for data in message.tool_calls]
            waiting |= zip(map(tool_call_stubs.id_of, message.tool_calls), latest, strict=True)
            by_message[number] = latest
        elif message.role == "tool":
            id = message.tool_call_id
            call = waiting.pop(id, None) if id else _first_unanswered(latest, message.name)
            if call and not call.reply_number:
                call.reply, call.reply_number = message, number
                result_numbers.add(number)
    return by_message, result_numbers


def _first_unanswered(calls: list[_CallRecord], name: str | None) -> _CallRecord | None:
    """Return the first call that has no result yet, or None.

    If `name` is given, only calls of the tool with this name count.
    """
    waiting = (call for call in calls if not call.reply_number and name in (None, call.call.name))
    return next(waiting, None)


def _calls_outside_messages(
    session: Session, by_message: dict[int, list[_CallRecord]]
) -> dict[int, list[_CallRecord]]:
    """Return the tool calls of `session.tool_history` that no message contains.

    The returned dict maps the number of a message to the calls just before this message.
    `by_message` has the calls that messages contain. If `session.tool_history` has such a call too,
    its tool result is copied to the call in `by_message`.
    """
    if not session.tool_history:
        return {}
    by_id: dict[str, _CallRecord] = {}
    by_content: dict[tuple[str, bytes], list[_CallRecord]] = {}
    for number in reversed(by_message):
        listed = session.messages[number - 1].tool_calls or ()
        by_id.update(zip(map(tool_call_stubs.id_of, listed), by_message[number], strict=True))
        for call in reversed(by_message[number]):
            by_content.setdefault(_key(call.call), []).append(call)
    outside: dict[int, list[_CallRecord]] = {}
    for position, invocation in place_invocations(session):
        call, result = tool_call_stubs.read_invocation(invocation)
        twins = by_content.get(_key(call)) if by_content else None
        twin = by_id.get(invocation.id) or (twins.pop() if twins else None)
        if twin is None:
            number = min(position + 1, max(len(session.messages), 1))
            lone = _CallRecord(call, number, invocation.timestamp)
            lone.result = result
            outside.setdefault(position + 1, []).append(lone)
        else:
            twin.result = result
    return outside


def _key(call: ToolCall) -> tuple[str, bytes]:
    return call.name, json_codec.encode(call.arguments)
