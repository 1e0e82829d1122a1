"""Choose which parts of a session an export contains, and redact secrets in them."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from cortext.features.secrets.redactor import redact_json
from cortext.formats.line_formats import place_invocations
from cortext.model.message import SessionMessage
from cortext.model.secrets.detector import kind_only
from cortext.model.session import Session


class ExportSelection(msgspec.Struct, frozen=True):
    """The messages to export, from number `first` to number `last`; the first message is 1.

    If `last` is None, the selection goes to the end. If `tools` is false, tool calls and their
    results are left out.
    """

    first: int = 1
    last: int | None = None
    tools: bool = True


def select_parts(session: Session, selection: ExportSelection) -> Session:
    """Return a session that has only the selected messages, with the tool calls between them."""
    count = len(session.messages)
    numbers = range(selection.first, min(selection.last or count, count) + 1)
    messages = session.messages[numbers.start - 1 : numbers.stop - 1]
    history = [
        invocation
        for position, invocation in place_invocations(session)
        if min(position + 1, count) in numbers or not count
    ]
    if not selection.tools:
        messages, history = _without_tools(messages), []
    return replace(session, messages=messages, tool_history=history)


def _without_tools(messages: list[SessionMessage]) -> list[SessionMessage]:
    """Remove the tool calls from the messages, and leave out tool results.

    A message that contains only tool calls is left out too.
    """
    return [
        replace(message, tool_calls=None) if message.tool_calls else message
        for message in messages
        if message.role != "tool" and (message.content.strip() or not message.tool_calls)
    ]


def redact_session(session: Session) -> tuple[Session, int]:
    """Return the session with its secrets redacted, and the number of different secrets."""
    found: set[str] = set()

    def mask(kind: str, secret: str) -> str:
        found.add(secret)
        return kind_only(kind, secret)

    return Session.from_dict(redact_json(session.to_dict(), mask)), len(found)
