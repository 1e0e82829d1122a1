"""Convert the messages of a session to blocks of a page, with tool calls shortened or in full."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from cortext.cli.terminal_text import local
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.conversation_render import ConversationPage, PageBlock
from cortext.formats import tool_call_stubs
from cortext.formats.history_in_order import history
from cortext.formats.line_formats import place_invocations
from cortext.formats.tool_call_stubs import ToolCall, ToolResult
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session

_TEXT_ROLES = ("user", "assistant")
_NEIGHBOURS = 2
"""The number of messages with text to show on each side of the opened message."""
_MAX_DISTANCE = 20
_OPENED_MARK = "◀"
_TERMINAL_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def facts(session: Session, key: str, status: str) -> list[str]:
    """Return the lines to print below the title of a session: one line of facts, and the summary.

    The facts are the id, type, status, time, model, tags, owner, and the numbers of messages,
    tokens and tool calls. `key` is the id to print, and `status` is the status to print.
    """
    parts = [key, session.kind, status, local(session.updated_at), session.model]
    parts += [f"#{tag}" for tag in session.tags]
    parts += [f"owner {session.owner}"] if session.owner else []
    parts.append(counted(len(session.messages), "message"))
    if session.total_tokens:
        parts.append(counted(session.total_tokens, "token"))
    if session.tool_history:
        parts.append(counted(len(session.tool_history), "tool call"))
    line = " · ".join(fact for fact in parts if fact)
    return [line, session.summary] if session.summary else [line]


def short(session: Session, wanted: range) -> Iterator[PageBlock]:
    """Yield the blocks of the messages whose numbers are in `wanted`, with short tool calls.

    A short tool call names the option that shows the whole call, such as `--message 7`.
    """
    last_number = 0
    for part in history(session, lambda number: f"--message {number}"):
        number = part.number
        if number not in wanted and session.messages:
            continue
        past = part.past
        if number != last_number:
            yield _heading_block(session, number)
        yield PageBlock("", past.role, past.text, markdown=past.role in _TEXT_ROLES)
        last_number = number


def sub_agent_blocks(sessions: Sequence[Session], *, whole: bool) -> Iterator[PageBlock]:
    """Yield one block for each session of a sub-agent, with its id and title.

    With `whole`, the block has no title, and the blocks of all messages of the session follow.
    """
    for session in sessions:
        count = counted(len(session.messages), "message")
        name = session.title or session.id
        yield PageBlock(f"sub-agent · {session.id} · {count}", "tool", "" if whole else name)
        if whole:
            yield from in_full(session, range(1, len(session.messages) + 1), alone=False)


def in_full(session: Session, wanted: range, *, alone: bool) -> Iterator[PageBlock]:
    """Yield the blocks of the messages whose numbers are in `wanted`, with full tool calls.

    The results of tool calls are in later messages. With `alone`, also yield the messages with the
    results, even if their numbers are not in `wanted`.
    """
    recorded = _separate_calls(session)
    if not session.messages:
        yield from (
            _call_block(*tool_call_stubs.read_invocation(item)) for item in recorded.get(0, ())
        )
    results: dict[int, None] = {}
    for number in wanted:
        message = session.messages[number - 1]
        yield from _message_blocks(session, number, recorded.get(number, ()))
        if alone and message.tool_calls:
            results |= dict.fromkeys(_result_numbers(session.messages, number))
    for number in results:
        if number not in wanted:
            yield from _message_blocks(session, number, ())


def _message_blocks(
    session: Session, number: int, recorded: Sequence[ToolInvocation]
) -> Iterator[PageBlock]:
    message = session.messages[number - 1]
    yield _heading_block(session, number)
    yield PageBlock("", "", message.content, markdown=message.role in _TEXT_ROLES)
    for invocation in recorded:
        yield _call_block(*tool_call_stubs.read_invocation(invocation))
    for data in message.tool_calls or ():
        yield _call_block(tool_call_stubs.read_call(data), tool_call_stubs.own_result(data))
    if message.structured_data is not None:
        yield PageBlock("", "tool", f"data\n{_format_value(message.structured_data)}")


def _heading_block(session: Session, number: int) -> PageBlock:
    """Return the block with the heading of a message: its number, role and time."""
    if number > len(session.messages):
        return PageBlock("tools", "tool", "")
    message = session.messages[number - 1]
    name = f" {message.name}" if message.name else ""
    heading = f"#{number} {message.role}{name} · {local(message.timestamp)}"
    return PageBlock(heading, message.role, "")


def _separate_calls(session: Session) -> dict[int, list[ToolInvocation]]:
    """Return the tool calls that are in `session.tool_history` but in no message.

    The calls are grouped by the number of the message after them. Calls after the last message have
    the number of the last message.
    """
    ids = {
        tool_call_stubs.id_of(data)
        for message in session.messages
        for data in message.tool_calls or ()
    }
    calls: dict[int, list[ToolInvocation]] = {}
    for position, invocation in place_invocations(session):
        if invocation.id not in ids:
            number = min(position + 1, len(session.messages))
            calls.setdefault(number, []).append(invocation)
    return calls


def _result_numbers(messages: Sequence[SessionMessage], number: int) -> Iterator[int]:
    """Yield the numbers of the messages that hold the results of a message's tool calls."""
    calls = messages[number - 1].tool_calls or ()
    waiting = {tool_call_stubs.id_of(data) for data in calls}
    following = True
    for later, message in enumerate(messages[number:], number + 1):
        following = following and message.role == "tool"
        if message.role == "tool" and (message.tool_call_id or "") in waiting:
            waiting.discard(message.tool_call_id or "")
            yield later
        elif following and not message.tool_call_id:
            yield later
        if not following and not waiting - {""}:
            return


def _call_block(call: ToolCall, result: ToolResult | None) -> PageBlock:
    lines = [f"call {call.name}"]
    if call.arguments:
        lines.append(_format_value(call.arguments))
    if result is not None:
        outcome = "failed" if result.failed else "result"
        lines.append(f"{outcome}: {result.error}" if result.error else outcome)
        if result.value is not None:
            lines.append(_format_value(result.value))
    return PageBlock("", "tool", "\n".join(lines))


def _format_value(value: Any) -> str:
    """Return a value as indented text. A dict becomes lines of the form `name: value`."""
    if not isinstance(value, dict):
        return _indent(_text(value))
    lines: list[str] = []
    for key, item in cast("dict[str, Any]", value).items():
        text = _text(item)
        lines.append(f"{key}:\n{_indent(text)}" if "\n" in text else f"{key}: {text}")
    return _indent("\n".join(lines))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json_codec.pretty(value).decode("utf-8", "replace")


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def around(messages: Sequence[SessionMessage], at: int) -> range:
    """Return the range of message numbers to show around message number `at`.

    On each side of `at`, the range has two messages with text, and the tool messages between them.
    It contains no message that is more than `_MAX_DISTANCE` messages away from `at`.
    """

    def reach(numbers: range) -> int:
        left = _NEIGHBOURS
        for number in numbers:
            message = messages[number - 1]
            left -= message.role in ("user", "assistant") and bool(message.content)
            if not left:
                return number
        return numbers[-1] if numbers else at

    first = reach(range(at - 1, max(at - _MAX_DISTANCE, 0), -1))
    last = reach(range(at + 1, min(at + _MAX_DISTANCE, len(messages)) + 1))
    return range(first, last + 1)


def blocks_around(session: Session, wanted: range, at: int) -> Iterator[PageBlock]:
    """Yield the blocks of the messages in `wanted`, with short tool calls.

    `at` is the number of the opened message, which the user asked for. Only this message appears in
    full, even if it is the result of a tool call.
    """
    yield from short(session, range(wanted.start, at))
    yield from in_full(session, range(at, at + 1), alone=False)
    if session.messages[at - 1].tool_calls:
        # The full message lacks the results of its tool calls. The short calls contain them.
        stubs = short(session, range(at, at + 1))
        yield from (block for block in stubs if block.role == "tool" and not block.heading)
    yield from short(session, range(at + 1, wanted.stop))


def mark_opened(
    page: ConversationPage, at: int, wanted: range, session: Session | None
) -> ConversationPage:
    """Return the page with a mark at the opened message, which has the number `at`.

    Also add a line that says which messages of the session the page shows; `wanted` has their
    numbers.
    """
    count = len(session.messages) if session else 0
    blocks = (
        replace(block, heading=f"{block.heading} {_OPENED_MARK}")
        if block.heading.startswith(f"#{at} ")
        else block
        for block in page.blocks
    )
    facts = [*page.facts, f"messages {wanted.start} to {wanted.stop - 1} of {count}"]
    return ConversationPage(page.title, facts, blocks)


def line_of_opened(text: str, at: int) -> int:
    """Return the number of the line with the heading of the opened message; the first line is 1.

    `text` is a laid out page, and `at` is the number of the message. Return 1 if the page has no
    such heading.
    """
    for number, line in enumerate(_TERMINAL_STYLE.sub("", text).split("\n"), 1):
        if line.startswith(f"#{at} ") and line.rstrip(" ─").endswith(_OPENED_MARK):
            return number
    return 1
