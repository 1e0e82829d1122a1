"""The content of a session as the markdown and HTML exports show it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from cortext.formats.exports.visible_text import utc
from cortext.formats.head_and_lines import place_invocations
from cortext.formats.tool_call_stubs import (
    ToolCall,
    ToolResult,
    id_of,
    own_result,
    read_call,
    read_invocation,
    read_result,
    stub,
)
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session

CALLS = "tool calls"
_LONGEST_LINE = 240


class ShownCall(NamedTuple):
    """A tool call as an export shows it: a summary on one line, and its arguments and result.

    `given` has all arguments. `result` is "" if the result is shown as a separate message.
    """

    line: str
    given: str
    result: str


class ExportPart(NamedTuple):
    """A message as an export shows it, or tool calls that are recorded outside of messages.

    Messages have numbers from 1. Tool calls outside of messages have the number 0.
    """

    number: int
    role: str
    name: str
    when: datetime
    text: str
    calls: list[ShownCall]
    data: str


def facts(session: Session) -> list[tuple[str, str]]:
    """Return names and values such as `("Model", "gpt-5")` for the header of an export.

    Empty values are left out. Title and summary are not included.
    """
    known = (
        ("Id", session.id),
        ("Type", session.kind),
        ("Status", session.status),
        ("Began", utc(session.created_at)),
        ("Last active", utc(session.updated_at)),
        ("Messages", str(len(session.messages))),
        ("Tokens", str(session.total_tokens) if session.total_tokens else ""),
        ("Agent", session.agent),
        ("Model", session.model),
        ("Folder", session.working_dir),
        ("Tags", ", ".join(session.tags)),
        ("Owner", session.owner),
        ("Continues", session.parent_id),
    )
    return [(name, value) for name, value in known if value.strip()]


def parts(session: Session) -> Iterator[ExportPart]:
    """Yield all messages and tool calls of a session in order."""
    results: dict[str, list[ToolResult]] = {}
    seen = set[str]()
    for message in session.messages:
        seen.update(map(id_of, message.tool_calls or ()))
        if message.role == "tool" and message.tool_call_id:
            results.setdefault(message.tool_call_id, []).append(read_result(message))
    beside: dict[int, list[ToolInvocation]] = {}
    for position, invocation in place_invocations(session):
        if invocation.id not in seen:
            beside.setdefault(position, []).append(invocation)
    for position, message in enumerate(session.messages):
        yield from _recorded(beside.get(position, []))
        yield _message(position + 1, message, results)
    yield from _recorded(beside.get(len(session.messages), []))


def _recorded(calls: list[ToolInvocation]) -> Iterator[ExportPart]:
    if calls:
        shown = [_shown(*read_invocation(call), in_full=True) for call in calls]
        yield ExportPart(0, CALLS, "", calls[0].timestamp, "", shown, "")


def _message(
    number: int, message: SessionMessage, results: dict[str, list[ToolResult]]
) -> ExportPart:
    calls: list[ShownCall] = []
    for data in message.tool_calls or ():
        own, waiting = own_result(data), results.get(id_of(data))
        # Some tools reuse ids in each turn, so the first result belongs to the first call.
        result = own or (waiting.pop(0) if waiting else None)
        calls.append(_shown(read_call(data), result, in_full=own is not None))
    data = "" if message.structured_data is None else _text(message.structured_data)
    return ExportPart(
        number, message.role, message.name or "", message.timestamp, message.content, calls, data
    )


def _shown(call: ToolCall, result: ToolResult | None, *, in_full: bool) -> ShownCall:
    lines = [line.strip() for line in stub(call, result, "").split("\n")]
    # Leave out the last lines of the output: the reader can unfold all of it.
    line = " · ".join([lines[0], *(line for line in lines[1:] if line and line[0] != ">")])
    given = "\n".join(f"{key}: {_text(value)}" for key, value in call.arguments.items())
    full = ""
    if in_full and result is not None:
        full = "\n".join(filter(None, (_text(result.value), result.error)))
    return ShownCall(line[:_LONGEST_LINE], given, full)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_codec.pretty(value).decode("utf-8")
