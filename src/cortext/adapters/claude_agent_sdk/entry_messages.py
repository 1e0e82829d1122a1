"""Conversion of entries of the Claude Agent SDK to cortext messages and back.

An entry is one line of a transcript of Claude Code, as a dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from cortext import clock
from cortext.formats.text_search.searchable_text import searchable_text_of
from cortext.model.ids import derived_id
from cortext.model.message import Role, SessionMessage
from cortext.model.message_dicts import as_dict, iso
from cortext.model.session import Session
from cortext.tools import jsonl_transcripts
from cortext.tools.claude.records import (
    OURS,
    SYNTHETIC,
    ContentBlock,
    TranscriptLine,
    said,
    split_content,
    text_of,
)

KEY = "claude_agent_sdk"
"""The key under which the `extra` of a stored message holds the SDK's entry."""
_RESULT = "[tool result of the past]"
_NOTE = "[note of the tool]"


def message_of(entry: Any) -> SessionMessage:
    """Return the message that stores an entry. Its `extra` holds the entry unchanged.

    The id of the message is the uuid of the entry. A store ignores a second message with the same
    id, so the SDK may send an entry again. An entry without a uuid gets a new id.
    """
    entry = as_dict(entry)
    try:
        line = msgspec.convert(entry, TranscriptLine)
    except msgspec.ValidationError:
        line = TranscriptLine()  # an entry of a later release is stored, but not interpreted
    uuid = entry.get("uuid")
    fields: dict[str, Any] = {
        "timestamp": jsonl_transcripts.time_of(line.timestamp) or clock.now(),
        "id": uuid if isinstance(uuid, str) else "",
        "extra": {KEY: entry},
    }
    content = line.content
    if content is None:
        return SessionMessage("system", "", **fields)
    text, calls, results = split_content(content)
    if results and not calls and not text:
        return _result_message(results, fields)
    role: Role = "assistant" if line.type == "assistant" else "user"
    role, text = said(text, role)
    return SessionMessage(role, text, tool_calls=calls or None, **fields)


def entries_of(session: Session, session_id: str) -> list[dict[str, Any]]:
    """Return the entries of a session, oldest first and without duplicates.

    `session_id` is the SDK's id of the session. A message of another program becomes a new entry
    with the same text. Its tool calls become text, so that Claude does not run them again.
    """
    entries: dict[str, dict[str, Any]] = {}
    last: str | None = None
    for message in session.messages:
        data = message.extra.get(KEY)
        if not isinstance(data, dict):
            made = _make_entry(session, session_id, message, last)
            if made is None:
                continue
            data = made
        entry = cast("dict[str, Any]", data)
        entries.setdefault(message.id, entry)
        last = entry.get("uuid") or last
    return list(entries.values())


def own_entries(messages: Iterable[SessionMessage]) -> list[dict[str, Any]]:
    """Return the entries that the SDK stored, without messages of other programs."""
    entries = [message.extra.get(KEY) for message in messages]
    return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]


def _result_message(results: list[ContentBlock], fields: dict[str, Any]) -> SessionMessage:
    texts = [text_of(block.content) for block in results]
    failed = any(block.is_error for block in results)
    return SessionMessage(
        "tool",
        "\n".join(text for text in texts if text),
        tool_call_id=results[0].tool_use_id or None,
        structured_data={"is_error": True} if failed else None,
        **fields,
    )


def _make_entry(
    session: Session, session_id: str, message: SessionMessage, parent: str | None
) -> dict[str, Any] | None:
    """Return an entry for a message of another program, or None if the message has no text.

    `parent` is the uuid of the previous entry. The uuid of the new entry depends only on the
    session and the message, because later entries refer to the uuid.
    """
    role = "user" if message.role in ("user", "system") else "assistant"
    text = {"tool": f"{_RESULT} {message.content}", "system": f"{_NOTE} {message.content}"}.get(
        message.role, searchable_text_of(message)
    )
    if not text.strip() or (message.role in ("tool", "system") and not message.content.strip()):
        return None
    uuid = derived_id(session.id, message.id)
    content = (
        {"role": "user", "content": text} if role == "user" else _assistant_message(uuid, text)
    )
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": session.working_dir,
        "sessionId": session_id,
        "type": role,
        "message": content,
        "uuid": uuid,
        "timestamp": iso(message.timestamp),
    }


def _assistant_message(uuid: str, text: str) -> dict[str, Any]:
    return {
        "id": f"{OURS}{uuid.replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
