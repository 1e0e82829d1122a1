"""The messages of a session as blocks of a page: with short tool calls, or everything in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from cortext.cli.terminal_text import local
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.page_render import ConversationPage, PageBlock
from cortext.formats import tool_call_stubs
from cortext.formats.head_and_lines import place_invocations
from cortext.formats.message_history import history
from cortext.formats.tool_call_stubs import ToolCall, ToolResult
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session

_SPOKEN = ("user", "assistant")
_BESIDE = 2
"""The number of messages with text to show on each side of the opened message."""
_FARTHEST = 20
_HERE = "◀"


def facts(session: Session, key: str, status: str) -> list[str]:
    """Return the lines below the title of a session: its facts, and its summary if there is one.

    The facts are its id, type, status, time, model, tags, owner and counts.
    """
    found = [key, session.kind, status, local(session.updated_at), session.model]
    found += [f"#{tag}" for tag in session.tags]
    found += [f"of {session.owner}"] if session.owner else []
    found.append(counted(len(session.messages), "message"))
    if session.total_tokens:
        found.append(counted(session.total_tokens, "token"))
    if session.tool_history:
        found.append(counted(len(session.tool_history), "tool call"))
    line = " · ".join(fact for fact in found if fact)
    return [line, session.summary] if session.summary else [line]


def short(session: Session, wanted: range) -> Iterator[PageBlock]:
    """Yield the messages with the wanted numbers, and tool calls as short stubs.

    A stub names the message that shows the whole call.
    """
    told = 0
    for part in history(session, lambda number: f"--message {number}"):
        number = part.number
        if number not in wanted and session.messages:
            continue
        past = part.past
        if number != told:
            yield _head(session, number)
        yield PageBlock("", past.role, past.text, markdown=past.role in _SPOKEN)
        told = number


def side_by_side(sessions: Sequence[Session], *, whole: bool) -> Iterator[PageBlock]:
    """Yield the sessions of sub-agents, each below its name.

    With `whole`, also yield their messages.
    """
    for session in sessions:
        told = counted(len(session.messages), "message")
        name = session.title or session.id
        yield PageBlock(f"sub-agent · {session.id} · {told}", "tool", "" if whole else name)
        if whole:
            yield from in_full(session, range(1, len(session.messages) + 1), alone=False)


def in_full(session: Session, wanted: range, *, alone: bool) -> Iterator[PageBlock]:
    """Yield the messages with the wanted numbers, including their tool calls and data.

    With `alone`, the results of their tool calls follow, although other messages hold these.
    """
    recorded = _recorded(session)
    if not session.messages:
        yield from (_call(*tool_call_stubs.read_invocation(item)) for item in recorded.get(0, ()))
    results: dict[int, None] = {}
    for number in wanted:
        message = session.messages[number - 1]
        yield from _message(session, number, recorded.get(number, ()))
        if alone and message.tool_calls:
            results |= dict.fromkeys(_results(session.messages, number))
    for number in results:
        if number not in wanted:
            yield from _message(session, number, ())


def _message(
    session: Session, number: int, recorded: Sequence[ToolInvocation]
) -> Iterator[PageBlock]:
    message = session.messages[number - 1]
    yield _head(session, number)
    yield PageBlock("", "", message.content, markdown=message.role in _SPOKEN)
    for invocation in recorded:
        yield _call(*tool_call_stubs.read_invocation(invocation))
    for data in message.tool_calls or ():
        yield _call(tool_call_stubs.read_call(data), tool_call_stubs.own_result(data))
    if message.structured_data is not None:
        yield PageBlock("", "tool", f"data\n{_indented(message.structured_data)}")


def _head(session: Session, number: int) -> PageBlock:
    """Return the block with the heading of a message: its number, role and time."""
    if number > len(session.messages):
        return PageBlock("tools", "tool", "")
    message = session.messages[number - 1]
    name = f" {message.name}" if message.name else ""
    heading = f"#{number} {message.role}{name} · {local(message.timestamp)}"
    return PageBlock(heading, message.role, "")


def _recorded(session: Session) -> dict[int, list[ToolInvocation]]:
    """Return the tool calls that are recorded outside of messages, by message number.

    The number is that of the next message, or of the last message if none follows. A call that a
    message also contains is left out.
    """
    made = {
        tool_call_stubs.id_of(data)
        for message in session.messages
        for data in message.tool_calls or ()
    }
    found: dict[int, list[ToolInvocation]] = {}
    for position, invocation in place_invocations(session):
        if invocation.id not in made:
            number = min(position + 1, len(session.messages))
            found.setdefault(number, []).append(invocation)
    return found


def _results(messages: Sequence[SessionMessage], number: int) -> Iterator[int]:
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


def _call(call: ToolCall, result: ToolResult | None) -> PageBlock:
    lines = [f"call {call.name}"]
    if call.arguments:
        lines.append(_indented(call.arguments))
    if result is not None:
        ended = "failed" if result.failed else "result"
        lines.append(f"{ended}: {result.error}" if result.error else ended)
        if result.value is not None:
            lines.append(_indented(result.value))
    return PageBlock("", "tool", "\n".join(lines))


def _indented(value: Any) -> str:
    """Return a value as indented text. A dict has one `name: value` for each item."""
    if not isinstance(value, dict):
        return _shifted(_text(value))
    lines: list[str] = []
    for key, item in cast("dict[str, Any]", value).items():
        text = _text(item)
        lines.append(f"{key}:\n{_shifted(text)}" if "\n" in text else f"{key}: {text}")
    return _shifted("\n".join(lines))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json_codec.pretty(value).decode("utf-8", "replace")


def _shifted(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def around(messages: Sequence[SessionMessage], at: int) -> range:
    """Return the range of message numbers to show around the message `at`.

    The range has two messages with text on each side. Tool messages between them are included, up
    to `_FARTHEST` messages on each side.
    """

    def reach(numbers: range) -> int:
        left = _BESIDE
        for number in numbers:
            message = messages[number - 1]
            left -= message.role in ("user", "assistant") and bool(message.content)
            if not left:
                return number
        return numbers[-1] if numbers else at

    first = reach(range(at - 1, max(at - _FARTHEST, 0), -1))
    last = reach(range(at + 1, min(at + _FARTHEST, len(messages)) + 1))
    return range(first, last + 1)


def told_around(session: Session, wanted: range, at: int) -> Iterator[PageBlock]:
    """Yield the wanted messages around the opened message `at`, with tool calls as stubs.

    The opened message appears in full, even if it is a result that a stub already contains.
    """
    yield from short(session, range(wanted.start, at))
    yield from in_full(session, range(at, at + 1), alone=False)
    if session.messages[at - 1].tool_calls:
        # the stubs with the results of the calls
        stubs = short(session, range(at, at + 1))
        yield from (block for block in stubs if block.role == "tool" and not block.heading)
    yield from short(session, range(at + 1, wanted.stop))


def opened_at(
    page: ConversationPage, at: int, wanted: range, session: Session | None
) -> ConversationPage:
    """Return the page with a mark on the opened message `at`, and a fact about the range shown."""
    count = len(session.messages) if session else 0
    blocks = (
        block._replace(heading=f"{block.heading} {_HERE}")
        if block.heading.startswith(f"#{at} ")
        else block
        for block in page.blocks
    )
    facts = [*page.facts, f"messages {wanted.start} to {wanted.stop - 1} of {count}"]
    return ConversationPage(page.title, facts, blocks)
