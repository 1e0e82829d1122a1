"""Conversion of messages of pydantic-ai to cortext records and back.

A record is one stored message in readable form. A request with several parts, such as a prompt and
two tool results, becomes several records, so that users and other frameworks can read each part.
The last record also holds the whole message in its `extra`, so the message comes back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from cortext.adapters.exact_json import from_store, to_store
from cortext.adapters.missing_framework import needs
from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.json_values import parse_time
from cortext.model.message import Role, SessionMessage

with needs("pydantic-ai"):
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

KEY = "pydantic_ai"
"""The key under which the `extra` of a record holds the data of pydantic-ai."""
PART = "part_of"
"""The key in the data of pydantic-ai that marks a record with only a part of a message.

Its value is the id of the record that holds the whole message.
"""
_CALLS = ("tool-call", "builtin-tool-call")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
Json = dict[str, Any]


def records_of(id: str, message: ModelMessage, own: Mapping[str, Any]) -> list[SessionMessage]:
    """Convert a message to the records that store it.

    The last record has the id `id`. Its `extra` holds the whole message and `own`, which is other
    data that pydantic-ai stores with the message.
    """
    raw = ModelMessagesTypeAdapter.dump_json([message])[1:-1]
    data = cast("Json", json_codec.decode(raw))
    extra = {KEY: {"message": to_store(raw), **own}}
    when = parse_time(data["timestamp"]) if data.get("timestamp") else None
    fields: Json = {"timestamp": when} if when else {}
    parts = cast("list[Json]", data["parts"])
    shown = [_response_record(parts)] if data["kind"] == "response" else _request_records(parts)
    part = {KEY: {PART: id}}
    return [
        *(
            SessionMessage(id=f"{id}.{number}", extra=part, **fields, **one)
            for number, one in enumerate(shown[:-1])
        ),
        SessionMessage(id=id, extra=extra, **fields, **shown[-1]),
    ]


def message_of(stored: Any) -> ModelMessage:
    """Convert the stored form of a message to the message of pydantic-ai."""
    return ModelMessagesTypeAdapter.validate_json(b"[" + from_store(stored) + b"]")[0]


def made_of(record: SessionMessage, names: Mapping[str, str]) -> list[ModelMessage]:
    """Return pydantic-ai messages with the content of a record that another program wrote.

    `names` maps the ids of earlier tool calls to tool names.
    """
    when = record.timestamp
    if record.role == "tool":
        id = record.tool_call_id or ""
        part = ToolReturnPart(names.get(id, "tool"), record.content, id, timestamp=when)
        return [ModelRequest([part], timestamp=when)] if id else []
    if record.role != "assistant":
        # A system prompt of another program is not an instruction to this agent.
        part = UserPromptPart(record.content, timestamp=when)
        return [ModelRequest([part], timestamp=when)] if record.content.strip() else []
    calls = [call for call in record.tool_calls or () if tool_call_stubs.id_of(call)]
    text = [TextPart(record.content)] if record.content.strip() else []
    parts = [*text, *map(_call_part, calls)]
    made: list[ModelMessage] = [ModelResponse(parts, timestamp=when)] if parts else []
    results = [
        ToolReturnPart(call_name(call), result.value, tool_call_stubs.id_of(call), timestamp=when)
        for call in calls
        if (result := tool_call_stubs.own_result(call)) is not None
    ]
    return [*made, ModelRequest(results, timestamp=when)] if results else made


def call_name(call: Json) -> str:
    """Return the tool name of another program's call, in characters that providers accept."""
    return _NOT_IN_NAMES.sub("_", tool_call_stubs.read_call(call).name)[:64] or "tool"


def _call_part(call: Json) -> ToolCallPart:
    return ToolCallPart(
        call_name(call), tool_call_stubs.read_call(call).arguments, tool_call_stubs.id_of(call)
    )


def _response_record(parts: list[Json]) -> Json:
    results = {
        part["tool_call_id"]: part.get("content")
        for part in parts
        if part["part_kind"] == "builtin-tool-return"
    }
    calls: list[Json] = []
    for part in parts:
        if part["part_kind"] in _CALLS:
            id = part["tool_call_id"]
            arguments = tool_call_stubs.read_call({"arguments": part["args"]}).arguments
            call: Json = {"id": id, "name": part["tool_name"], "arguments": arguments}
            if part["part_kind"] == "builtin-tool-call":
                call["result"] = _to_text(results[id]) if id in results else "done"
            calls.append(call)
    shown = ("text", "file", "speech")
    text = _join_lines(_readable_text(part) for part in parts if part["part_kind"] in shown)
    return {"role": "assistant", "content": text, "tool_calls": calls or None}


def _request_records(parts: list[Json]) -> list[Json]:
    """Return the readable fields of each record that stores a request, such as role and content.

    The first record has the system text. Then there is one record for each tool result. The last
    record has the user's text.
    """
    shown: list[Json] = []
    by_role: dict[Role, list[str]] = {"system": [], "user": []}
    for part in parts:
        kind = part["part_kind"]
        if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
            content = _to_text(part["content"])
            name = part["tool_name"]
            id = part["tool_call_id"]
            shown.append({"role": "tool", "content": content, "tool_call_id": id, "name": name})
        elif kind in ("user-prompt", "speech"):
            by_role["user"].append(_readable_text(part))
        elif kind in ("system-prompt", "retry-prompt", "retry-feedback"):
            by_role["system"].append(_to_text(part["content"]))
    if by_role["system"]:
        shown.insert(0, {"role": "system", "content": _join_lines(by_role["system"])})
    if by_role["user"]:
        shown.append({"role": "user", "content": _join_lines(by_role["user"])})
    return shown or [{"role": "system", "content": ""}]


def _readable_text(part: Json) -> str:
    """Return the readable text of a message part, or of one item of a prompt."""
    if part.get("part_kind") == "speech":
        return part.get("transcript") or "[speech]"
    content = part.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        items = cast("list[Any]", content)
        return _join_lines(
            item if isinstance(item, str) else _readable_text(item) for item in items
        )
    if isinstance(content, dict):
        return _readable_text(cast("Json", content))
    kind = str(part.get("kind", ""))
    media = str(part.get("media_type") or "").partition("/")[0] or kind.partition("-")[0]
    if kind == "cache-point":
        return ""
    return f"[{media}]" if media in ("image", "audio", "video") else "[file]"


def _to_text(content: Any) -> str:
    return content if isinstance(content, str) else json_codec.encode(content).decode("utf-8")


def _join_lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)
