"""Salvage the records of a session document that is not valid JSON.

The functions work on the bytes of the document. They read and write no files.
"""

from __future__ import annotations

import re
from typing import Any, cast

from cortext.features.doctor.salvage.json_scan import find_fields, find_objects
from cortext.features.doctor.salvage.salvage_lines import with_known_role
from cortext.formats import document
from cortext.model.message import (
    SessionMessage,
    ToolInvocation,
    invocation_from_dict,
    message_from_dict,
)
from cortext.model.session import Session

_FIRST_RECORD = re.compile(r'"(?:messages|tool_history)"\s*:|\{\s*"role"')


def salvage_records(data: bytes, id: str) -> Session:
    """Return a session with every message and tool call found in the bytes of a document.

    `id` becomes the id of the session.
    """
    session = document.salvage(data, id)[0]
    messages = {message.id: message for message in session.messages}
    calls = {call.id: call for call in session.tool_history}
    for piece in find_objects(data.decode("utf-8", "replace")):
        for value in _list_candidates(piece.value):
            try:
                record = _decode_candidate(value)
            except ValueError:
                continue  # it is another object
            if isinstance(record, SessionMessage):
                messages.setdefault(record.id, record)
            else:
                calls.setdefault(record.id, record)
    if len(messages) > len(session.messages):
        session.messages = sorted(messages.values(), key=lambda message: message.timestamp)
    session.tool_history = list(calls.values())
    return session


def _list_candidates(value: dict[str, Any]) -> list[dict[str, Any]]:
    found = [value]
    for name in ("messages", "tool_history"):
        inner = value.get(name)
        items = cast("list[Any]", inner) if isinstance(inner, list) else []
        found += [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
    return found


def _decode_candidate(value: dict[str, Any]) -> SessionMessage | ToolInvocation:
    if "tool_name" in value:
        return invocation_from_dict(value)
    if "role" in value:
        return message_from_dict(with_known_role(value) or value)
    raise ValueError("is not a record")


def salvage_head_fields(data: bytes) -> dict[str, Any]:
    """Return the readable fields of a document's head.

    The head is the part before the first message or tool call.
    """
    text = data.decode("utf-8", "replace")
    found = _FIRST_RECORD.search(text)
    return find_fields(text[: found.start()] if found else text)
