"""Conversion between messages of the library `llm` (from its `Message.to_dict`) and our records.

A record is a `SessionMessage`. Its `extra` stores the original message if role and text cannot
express it, so a message is equal after a round trip. A message with several tool results becomes a
record for each result. Only the last of these records stores the original message. A record of
another program becomes a message with the same content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.message import ROLES, Role, SessionMessage
from cortext.model.record_dicts import as_dict

KEY = "llm"
"""The key in `extra` under which the original message is stored."""
PART = "part_of"
"""The key inside `extra[KEY]` for the id of the record that stores the original message."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
Json = dict[str, Any]


def records_of(item: Any, id: str, **fields: Any) -> list[SessionMessage]:
    """Convert a message of `llm` to records; ValueError if the message is not a dict.

    The last record gets the given `id` and further `fields`, such as `timestamp`.
    """
    item = as_dict(item)
    parts = _parts(item)
    results = [part for part in parts if part.get("type") == "tool_result"]
    others = [part for part in parts if part.get("type") != "tool_result"]
    if item.get("role") != "tool" or not results:
        shown = [_said(item, parts)]
    else:
        shown = [*([_said(item, others)] if others else ()), *map(_result, results)]
    when = {"timestamp": fields["timestamp"]} if "timestamp" in fields else {}
    extra = {} if _is_plain(item) else {KEY: item}
    return [
        *(
            SessionMessage(id=f"{id}.{number}", extra={KEY: {PART: id}}, **when, **one)
            for number, one in enumerate(shown[:-1])
        ),
        SessionMessage(id=id, extra=extra, **fields, **shown[-1]),
    ]


def items_of(records: Iterable[SessionMessage]) -> list[Json]:
    """Convert records to messages of `llm`.

    A record from `records_of` gives the original message. A record of another program gives a new
    message.
    """
    items: list[Json] = []
    names: dict[str, str] = {}
    joined = False  # whether the last item contains results that another program recorded
    for record in records:
        own = record.extra.get(KEY)
        if isinstance(own, dict):
            if PART not in own:
                items.append(cast("Json", own))
                joined = False
            continue
        for item in _made(record, names):
            if item["role"] == "tool" and joined:
                items[-1]["parts"] += item["parts"]
            else:
                items.append(item)
            joined = item["role"] == "tool"
    return items


def text_of(part: Json) -> str:
    """Return the readable text of a text or an attachment in a message; "" for any other part."""
    kind = part.get("type")
    if kind == "text":
        return _text(part.get("text"))
    if kind == "attachment":
        return _attachment(part.get("attachment"))
    return ""


def _is_plain(item: Json) -> bool:
    parts = _parts(item)
    if list(item) != ["role", "parts"] or len(parts) != 1 or item["parts"] != parts:
        return False
    text = parts[0].get("text")
    return (
        item["role"] in ("user", "assistant")
        and list(parts[0]) == ["type", "text"]
        and parts[0]["type"] == "text"
        and type(text) is str
        and bool(text.strip())
    )


def _said(item: Json, parts: Sequence[Json]) -> Json:
    found = item.get("role")
    role = cast("Role", found) if isinstance(found, str) and found in ROLES else "system"
    results = {
        part.get("tool_call_id"): part for part in parts if part.get("type") == "tool_result"
    }
    calls = [_call(part, results) for part in parts if part.get("type") == "tool_call"]
    texts = [text_of(part) for part in parts]
    return {
        "role": role,
        "content": "\n".join(text for text in texts if text),
        "tool_calls": calls or None,
    }


def _call(part: Json, results: dict[Any, Json]) -> Json:
    id = part.get("tool_call_id")
    call: Json = {
        "id": _text(id),
        "name": _text(part.get("name")) or "tool",
        "arguments": part.get("arguments"),
    }
    if part.get("server_executed"):
        # The provider executed the call, so no result follows.
        call["result"] = _text(results.get(id, {}).get("output")) or "done"
    return call


def _result(part: Json) -> Json:
    texts = [_text(part.get("output"))]
    texts += [_attachment(each) for each in _list(part.get("attachments"))]
    return {
        "role": "tool",
        "content": "\n".join(text for text in texts if text),
        "tool_call_id": _text(part.get("tool_call_id")) or None,
        "name": _text(part.get("name")) or None,
        "structured_data": {"is_error": True} if part.get("exception") else None,
    }


def _made(record: SessionMessage, names: dict[str, str]) -> list[Json]:
    """Return new messages for a record of another program.

    `names` maps the ids of tool calls to tool names. Calls in this record are added to `names`.
    """
    if record.role == "tool" and record.tool_call_id:
        name = names.get(record.tool_call_id) or _name(record.name or "")
        return [
            {"role": "tool", "parts": [_made_result(record.tool_call_id, name, record.content)]}
        ]
    said: list[Json] = []
    if record.content.strip():
        said.append({"type": "text", "text": record.content})
    if record.role != "assistant":
        # System and tool text of another program must not become an instruction to this model.
        role = "assistant" if record.role == "tool" else "user"
        return [{"role": role, "parts": said}] if said else []
    results: list[Json] = []
    for data in record.tool_calls or ():
        call, result = tool_call_stubs.read_call(data), tool_call_stubs.own_result(data)
        if not call.id:
            continue
        names[call.id] = name = _name(call.name)
        asked: Json = {"type": "tool_call", "name": name, "arguments": call.arguments}
        said.append({**asked, "tool_call_id": call.id})
        if result is not None:
            results.append(_made_result(call.id, name, result.value))
    items: list[Json] = [{"role": "assistant", "parts": said}] if said else []
    return [*items, {"role": "tool", "parts": results}] if results else items


def _made_result(id: str, name: str, value: Any) -> Json:
    text = value if isinstance(value, str) else json_codec.encode(value).decode("utf-8")
    return {"type": "tool_result", "name": name, "output": text, "tool_call_id": id}


def _name(name: str) -> str:
    """Return the name of a tool with only the characters that model providers accept."""
    return _NO_NAME.sub("_", name)[:64] or "tool"


def _attachment(data: Any) -> str:
    if not isinstance(data, dict):
        return "[attachment]"
    found = cast("Json", data)
    kind = _text(found.get("type")) or "file"
    where = _text(found.get("path")) or _text(found.get("url"))
    return f"[{kind}: {where}]" if where else f"[{kind}]"


def _parts(item: Json) -> list[Json]:
    return [cast("Json", part) for part in _list(item.get("parts")) if isinstance(part, dict)]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
