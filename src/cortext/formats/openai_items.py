"""Conversion between items of OpenAI's Responses API and messages of cortext, for openai-agents.

If an item has more than a role and a text, the field `extra` of the message stores the original
item. So the conversion to a message and back returns the original item. A long text is stored only
in the message, and not again in `extra`. A message that another program recorded becomes new items
with the same content.
"""

from __future__ import annotations

import re
from typing import Any, cast

from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.json_values import DEEPEST
from cortext.model.message import ROLES, Role, SessionMessage
from cortext.model.message_dicts import as_dict

KEY = "openai_agents"
"""The key in `extra` under which the original item is stored."""
_TEXT = f"{KEY}_text"
"""The key in `extra` for the path of a long text in the item, such as `content/0/text`.

The stored item has no text at this path, because the message has the text in `content`.
"""
_LONG = 64
"""The number of characters from which a text counts as long and is stored only once."""
_PLAIN = ["content", "role"]
"""The keys of an item that has only a role and a text, in the order of openai-agents."""
_HOSTED = frozenset(
    ("code_interpreter_call", "file_search_call", "image_generation_call", "mcp_call",
     "mcp_list_tools", "web_search_call")
)  # fmt: skip
"""Types of tool calls that OpenAI's server runs. Their items also contain the result."""
_OTHER_CALLS = frozenset(("mcp_approval_request", "program"))
_RESULT_TYPES = frozenset(("mcp_approval_response", "tool_search_output"))
_ARGUMENT_KEYS = ("arguments", "action", "operation", "input", "queries", "code")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def message_of(item: Any, **fields: Any) -> SessionMessage:
    """Convert an item of OpenAI's Responses API to a message.

    `fields` are further fields of the message, such as its timestamp or id. Raises ValueError if
    the item is not a dict.
    """
    item = as_dict(item)
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        if kind.endswith("_output") or kind in _RESULT_TYPES:
            call_id = _text(item.get("call_id") or item.get("approval_request_id")) or None
            output = _first_value(item, ("output", "reason", "status"))
            text = text_of(output)
            extra = _extra(item, text)
            return SessionMessage("tool", text, tool_call_id=call_id, extra=extra, **fields)
        if kind.endswith("_call") or kind in _OTHER_CALLS or kind in _HOSTED:
            calls = [_call_of(item, kind)]
            return SessionMessage("assistant", "", tool_calls=calls, extra={KEY: item}, **fields)
        role: Role = "assistant" if kind == "reasoning" else "system"
        return SessionMessage(role, "", extra={KEY: item}, **fields)
    given_role = item.get("role")
    role = (
        cast("Role", given_role)
        if isinstance(given_role, str) and given_role in ROLES
        else "system"
    )
    text = text_of(item.get("content"))
    extra = {} if _is_plain(item) else _extra(item, text)
    return SessionMessage(role, text, extra=extra, **fields)


def items_of(message: SessionMessage) -> list[dict[str, Any]]:
    """Convert a message to items of OpenAI's Responses API.

    A message from `message_of` is converted to its original item. A message that another program
    recorded is converted to new items.
    """
    original = message.extra.get(KEY)
    if isinstance(original, dict):
        return [_restore_item(cast("dict[str, Any]", original), message)]
    if message.role == "tool":
        return [_result_item(message)]
    items: list[dict[str, Any]] = []
    if message.content.strip():
        # System and tool text of another program must not become an instruction to this agent.
        role = "assistant" if message.role == "assistant" else "user"
        items.append({"content": message.content, "role": role})
    for data in message.tool_calls or ():
        items += _new_call_items(data)
    return items


def text_of(content: Any, depth: int = DEEPEST) -> str:
    """Return the readable text of an item's content, which is text or a list of parts.

    Parts that are nested deeper than `depth` are ignored.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part_text(cast("dict[str, Any]", content))
    if not isinstance(content, list) or not depth:
        return ""
    parts = [text_of(part, depth - 1) for part in cast("list[Any]", content)]
    return "\n".join(part for part in parts if part)


def _is_plain(item: dict[str, Any]) -> bool:
    content = item.get("content")
    return (
        list(item) == _PLAIN
        and item["role"] in ("user", "assistant")
        and type(content) is str
        and bool(content.strip())
    )


def _extra(item: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the field `extra` of a message, which stores the original item of the message.

    `text` is the text of the message. If this text is long, the stored item does not contain it.
    """
    path = _path_of_text(text, item) if len(text) >= _LONG else ""
    return {KEY: _replace_text(item, path, None), _TEXT: path} if path else {KEY: item}


def _path_of_text(text: str, item: dict[str, Any]) -> str:
    """Return the path of a text in an item, such as `content/0/text`.

    The result is "" if the text was joined from several parts of the item.
    """
    for name in ("content", "output"):
        value = item.get(name)
        if value == text:
            return name
        if isinstance(value, list):
            for at, part in enumerate(cast("list[Any]", value)):
                if isinstance(part, dict) and cast("dict[str, Any]", part).get("text") == text:
                    return f"{name}/{at}/text"
    return ""


def _replace_text(item: dict[str, Any], path: str, text: str | None) -> dict[str, Any]:
    """Return a copy of an item that has `text` at a path such as `content/0/text`."""
    if "/" not in path:
        return {**item, path: text}
    name, at, last = path.split("/")
    parts = list(item[name])
    parts[int(at)] = {**parts[int(at)], last: text}
    return {**item, name: parts}


def _restore_item(item: dict[str, Any], message: SessionMessage) -> dict[str, Any]:
    """Put the text of a message back into its stored item, and return the original item.

    `item` is the stored item, from the field `extra` of the message. To save space, `item` has None
    in place of a long text, and `extra` has the path of this place, such as `content/0/text`. If
    `extra` has no valid path, or the value at the path is not None, `item` is returned unchanged.
    """
    path = message.extra.get(_TEXT)
    if not isinstance(path, str):
        return item
    try:
        return _replace_text(item, path, message.content) if _value_at(item, path) is None else item
    except (LookupError, TypeError, ValueError):
        return item


def _value_at(item: dict[str, Any], path: str) -> Any:
    if "/" not in path:
        return item[path]
    name, at, last = path.split("/")
    return item[name][int(at)][last]


def _part_text(part: dict[str, Any]) -> str:
    for name in ("text", "refusal", "stdout"):
        if isinstance(part.get(name), str):
            return part[name]
    kind = _text(part.get("type"))
    if "image" in kind or "screenshot" in kind:
        return "[image]"
    return f"[file: {_text(part.get('filename')) or 'unnamed'}]" if "file" in kind else ""


def _call_of(item: dict[str, Any], kind: str) -> dict[str, Any]:
    arguments = _first_value(item, _ARGUMENT_KEYS)
    if isinstance(arguments, str):
        try:
            arguments = json_codec.decode(arguments.encode("utf-8", "surrogatepass"))
        except ValueError:
            arguments = {"input": arguments}
    id = _text(item.get("call_id") or item.get("id"))
    name = _text(item.get("name")) or kind.removesuffix("_call")
    call = {"id": id, "name": name, "arguments": arguments}
    if kind in _HOSTED:
        output = item.get("output")
        call["result"] = output if isinstance(output, str) else _text(item.get("status")) or "done"
    return call


def _new_call_items(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return new items for a tool call that another program recorded.

    The first item is the call. If the call contains its result, the second item is the result.
    `data` is an entry of a message's `tool_calls`. The list is empty if the call has no id.
    """
    call = tool_call_stubs.read_call(data)
    if not call.id:
        return []
    item = {
        "arguments": json_codec.encode(call.arguments).decode("utf-8"),
        "call_id": call.id,
        "name": _NOT_IN_NAME.sub("_", call.name)[:64] or "tool",
        "type": "function_call",
    }
    result = tool_call_stubs.own_result(data)
    return [item] if result is None else [item, _output_item(call.id, result.value)]


def _result_item(message: SessionMessage) -> dict[str, Any]:
    if message.tool_call_id:
        return _output_item(message.tool_call_id, message.content)
    return {"content": message.content, "role": "assistant"}


def _output_item(call_id: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json_codec.encode(value).decode("utf-8")
    return {"call_id": call_id, "output": text, "type": "function_call_output"}


def _first_value(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
