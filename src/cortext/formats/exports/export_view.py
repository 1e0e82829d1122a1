"""The content of a session as the markdown and HTML exports show it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from cortext.formats.exports.printable_text import utc
from cortext.formats.line_formats import place_invocations
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


class ShownCall(msgspec.Struct, frozen=True):
    """A tool call as an export shows it.

    `line` is a summary on one line. `given` is the text of all arguments. `result` is the text of
    the result, or "" if the export shows the result as a separate message.
    """

    line: str
    given: str
    result: str


class ExportPart(msgspec.Struct, frozen=True):
    """A section of an export: a message, or tool calls that are recorded outside of messages.

    - `number`: the position of the message, from 1; it is 0 for tool calls outside of messages
    - `name`: the name of the message, or ""
    - `data`: the structured data of the message as text, or ""
    """

    number: int
    role: str
    name: str
    when: datetime
    text: str
    calls: list[ShownCall]
    data: str


def facts(session: Session) -> list[tuple[str, str]]:
    """Return facts about a session for the header of an export, such as `("Model", "gpt-5")`.

    Facts with an empty value are left out. The title and the summary are not included.
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
    """Yield all sections of an export, in order: the messages and tool calls of a session."""
    results: dict[str, list[ToolResult]] = {}
    linked_ids = set[str]()
    for message in session.messages:
        linked_ids.update(map(id_of, message.tool_calls or ()))
        if message.role == "tool" and message.tool_call_id:
            results.setdefault(message.tool_call_id, []).append(read_result(message))
    unlinked: dict[int, list[ToolInvocation]] = {}
    for position, invocation in place_invocations(session):
        if invocation.id not in linked_ids:
            unlinked.setdefault(position, []).append(invocation)
    for position, message in enumerate(session.messages):
        yield from _calls_part(unlinked.get(position, []))
        yield _message_part(position + 1, message, results)
    yield from _calls_part(unlinked.get(len(session.messages), []))


def _calls_part(calls: list[ToolInvocation]) -> Iterator[ExportPart]:
    if calls:
        shown = [_show_call(*read_invocation(call), in_full=True) for call in calls]
        yield ExportPart(0, CALLS, "", calls[0].timestamp, "", shown, "")


def _message_part(
    number: int, message: SessionMessage, results: dict[str, list[ToolResult]]
) -> ExportPart:
    calls: list[ShownCall] = []
    for data in message.tool_calls or ():
        own_output, pending = own_result(data), results.get(id_of(data))
        # Some tools reuse ids in each turn, so the first result belongs to the first call.
        result = own_output or (pending.pop(0) if pending else None)
        calls.append(_show_call(read_call(data), result, in_full=own_output is not None))
    data = "" if message.structured_data is None else _text(message.structured_data)
    return ExportPart(
        number, message.role, message.name or "", message.timestamp, message.content, calls, data
    )


def _show_call(call: ToolCall, result: ToolResult | None, *, in_full: bool) -> ShownCall:
    lines = [line.strip() for line in stub(call, result, "").split("\n")]
    # Leave out the output lines, which begin with ">": the reader can unfold the whole output.
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
