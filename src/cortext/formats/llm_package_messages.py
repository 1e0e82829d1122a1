"""Conversion between messages of the library `llm` (from its `Message.to_dict`) and our records.

A record is a `SessionMessage`. If a message of `llm` has more than a role and a text, the field
`extra` of its record stores the original message. So the conversion to a record and back returns
the original message. A message with several tool results becomes one record for each result, and
only the last of these records stores the original message. A record that another program wrote
becomes a new message with the same content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.message import ROLES, Role, SessionMessage
from cortext.model.message_dicts import as_dict

KEY = "llm"
"""The key in `extra` under which the original message is stored."""
PART = "part_of"
"""The key in `extra[KEY]` for the id of the record that has the original message instead."""
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
Json = dict[str, Any]


def records_of(item: Any, id: str, **fields: Any) -> list[SessionMessage]:
    """Convert a message of the library `llm` to records, which are messages of cortext.

    The last record gets the given `id` and `fields`, such as `timestamp`. Earlier records get an id
    such as `ID.0`, and only the `timestamp` of `fields`. Raises ValueError if the message is not a
    dict.
    """
    item = as_dict(item)
    parts = _parts(item)
    results = [part for part in parts if part.get("type") == "tool_result"]
    others = [part for part in parts if part.get("type") != "tool_result"]
    if item.get("role") != "tool" or not results:
        field_sets = [_message_fields(item, parts)]
    else:
        field_sets = [
            *([_message_fields(item, others)] if others else ()),
            *map(_result_fields, results),
        ]
    when = {"timestamp": fields["timestamp"]} if "timestamp" in fields else {}
    extra = {} if _is_plain(item) else {KEY: item}
    return [
        *(
            SessionMessage(id=f"{id}.{number}", extra={KEY: {PART: id}}, **when, **record_fields)
            for number, record_fields in enumerate(field_sets[:-1])
        ),
        SessionMessage(id=id, extra=extra, **fields, **field_sets[-1]),
    ]


def items_of(records: Iterable[SessionMessage]) -> list[Json]:
    """Convert records, which are messages of cortext, to messages of the library `llm`.

    A record from `records_of` is converted to its original message. A record that another program
    wrote is converted to a new message.
    """
    items: list[Json] = []
    names: dict[str, str] = {}
    # Whether the last item contains tool results that another program recorded.
    ends_with_results = False
    for record in records:
        original = record.extra.get(KEY)
        if isinstance(original, dict):
            if PART not in original:
                items.append(cast("Json", original))
                ends_with_results = False
            continue
        for item in _new_items(record, names):
            if item["role"] == "tool" and ends_with_results:
                items[-1]["parts"] += item["parts"]
            else:
                items.append(item)
            ends_with_results = item["role"] == "tool"
    return items


def text_of(part: Json) -> str:
    """Return the readable text of one part of a message of `llm`.

    A part is a text or an attachment. The result is "" for any other part.
    """
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


def _message_fields(item: Json, parts: Sequence[Json]) -> Json:
    given_role = item.get("role")
    role = (
        cast("Role", given_role)
        if isinstance(given_role, str) and given_role in ROLES
        else "system"
    )
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


def _result_fields(part: Json) -> Json:
    texts = [_text(part.get("output"))]
    texts += [_attachment(each) for each in _list(part.get("attachments"))]
    return {
        "role": "tool",
        "content": "\n".join(text for text in texts if text),
        "tool_call_id": _text(part.get("tool_call_id")) or None,
        "name": _text(part.get("name")) or None,
        "structured_data": {"is_error": True} if part.get("exception") else None,
    }


def _new_items(record: SessionMessage, names: dict[str, str]) -> list[Json]:
    """Return new messages of `llm` for a record that another program wrote.

    `names` maps the ids of earlier tool calls to the names of the tools. The calls in this record
    are added to `names`.
    """
    if record.role == "tool" and record.tool_call_id:
        name = names.get(record.tool_call_id) or _name(record.name or "")
        return [{"role": "tool", "parts": [_new_result(record.tool_call_id, name, record.content)]}]
    parts: list[Json] = []
    if record.content.strip():
        parts.append({"type": "text", "text": record.content})
    if record.role != "assistant":
        # System and tool text of another program must not become an instruction to this model.
        role = "assistant" if record.role == "tool" else "user"
        return [{"role": role, "parts": parts}] if parts else []
    results: list[Json] = []
    for data in record.tool_calls or ():
        call, result = tool_call_stubs.read_call(data), tool_call_stubs.own_result(data)
        if not call.id:
            continue
        names[call.id] = name = _name(call.name)
        call_part: Json = {"type": "tool_call", "name": name, "arguments": call.arguments}
        parts.append({**call_part, "tool_call_id": call.id})
        if result is not None:
            results.append(_new_result(call.id, name, result.value))
    items: list[Json] = [{"role": "assistant", "parts": parts}] if parts else []
    return [*items, {"role": "tool", "parts": results}] if results else items


def _new_result(id: str, name: str, value: Any) -> Json:
    text = value if isinstance(value, str) else json_codec.encode(value).decode("utf-8")
    return {"type": "tool_result", "name": name, "output": text, "tool_call_id": id}


def _name(name: str) -> str:
    """Replace the characters in a tool's name that model providers do not accept."""
    return _NOT_IN_NAME.sub("_", name)[:64] or "tool"


def _attachment(data: Any) -> str:
    if not isinstance(data, dict):
        return "[attachment]"
    attachment = cast("Json", data)
    kind = _text(attachment.get("type")) or "file"
    location = _text(attachment.get("path")) or _text(attachment.get("url"))
    return f"[{kind}: {location}]" if location else f"[{kind}]"


def _parts(item: Json) -> list[Json]:
    return [cast("Json", part) for part in _list(item.get("parts")) if isinstance(part, dict)]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
