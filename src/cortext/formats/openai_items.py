"""Items of OpenAI's Responses API, which openai-agents keeps, as messages of ours and back.

An item comes back as it was: what role and content do not say of it stands in the message's
`extra`, and a long text stands once. A message that was made elsewhere becomes the items that say
the same.
"""

from __future__ import annotations

import re
from typing import Any, cast

from cortext.formats import tool_call_stubs
from cortext.model import json_codec
from cortext.model.json_values import DEEPEST
from cortext.model.message import ROLES, Role, SessionMessage
from cortext.model.record_dicts import as_dict

KEY = "openai_agents"
"""The name in `extra` under which an item stands."""
_TEXT = f"{KEY}_text"
"""The name beside it for the keys that lead to where in the item the message's content belongs."""
_LONG = 64
"""Characters of a text that is not stored a second time."""
_PLAIN = ["content", "role"]
"""The keys, in the runner's order, of an item that role and content tell whole."""
_HOSTED = frozenset(
    ("code_interpreter_call", "file_search_call", "image_generation_call", "mcp_call",
     "mcp_list_tools", "web_search_call")
)  # fmt: skip
"""Calls that the server answers in the same item."""
_OTHER_CALLS = frozenset(("mcp_approval_request", "program"))
_ANSWERS = frozenset(("mcp_approval_response", "tool_search_output"))
_GIVEN = ("arguments", "action", "operation", "input", "queries", "code")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def message_of(item: Any, **fields: Any) -> SessionMessage:
    """The message of an item; `fields` are its own, as a timestamp or an id. ValueError if it is
    no JSON object."""
    item = as_dict(item)
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        if kind.endswith("_output") or kind in _ANSWERS:
            answers = _text(item.get("call_id") or item.get("approval_request_id")) or None
            given = _first(item, ("output", "reason", "status"))
            text = text_of(given)
            extra = _extra(item, text)
            return SessionMessage("tool", text, tool_call_id=answers, extra=extra, **fields)
        if kind.endswith("_call") or kind in _OTHER_CALLS or kind in _HOSTED:
            calls = [_call_of(item, kind)]
            return SessionMessage("assistant", "", tool_calls=calls, extra={KEY: item}, **fields)
        role: Role = "assistant" if kind == "reasoning" else "system"
        return SessionMessage(role, "", extra={KEY: item}, **fields)
    found = item.get("role")
    role = cast("Role", found) if isinstance(found, str) and found in ROLES else "system"
    text = text_of(item.get("content"))
    extra = {} if _is_plain(item) else _extra(item, text)
    return SessionMessage(role, text, extra=extra, **fields)


def items_of(message: SessionMessage) -> list[dict[str, Any]]:
    """The items of a message: its own, or those that say what another program recorded."""
    own = message.extra.get(KEY)
    if isinstance(own, dict):
        return [_whole(cast("dict[str, Any]", own), message)]
    if message.role == "tool":
        return [_answer(message)]
    items: list[dict[str, Any]] = []
    if message.content.strip():
        # What a tool or a prompt said in another program is no instruction to this agent.
        role = "assistant" if message.role == "assistant" else "user"
        items.append({"content": message.content, "role": role})
    for data in message.tool_calls or ():
        items += _made_call(data)
    return items


def text_of(content: Any, depth: int = DEEPEST) -> str:
    """What a person reads of the content of an item: text, or a list of parts. What is nested
    deeper than a message may be says nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part(cast("dict[str, Any]", content))
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
    """What keeps an item, beside the text of its message."""
    path = _way_to(text, item) if len(text) >= _LONG else ""
    return {KEY: _with(item, path, None), _TEXT: path} if path else {KEY: item}


def _way_to(text: str, item: dict[str, Any]) -> str:
    """The keys that lead to a text; none where it is put together from several."""
    for name in ("content", "output"):
        value = item.get(name)
        if value == text:
            return name
        if isinstance(value, list):
            for at, part in enumerate(cast("list[Any]", value)):
                if isinstance(part, dict) and cast("dict[str, Any]", part).get("text") == text:
                    return f"{name}/{at}/text"
    return ""


def _with(item: dict[str, Any], path: str, text: str | None) -> dict[str, Any]:
    """A copy of an item that has a text where the keys lead."""
    if "/" not in path:
        return {**item, path: text}
    name, at, last = path.split("/")
    parts = list(item[name])
    parts[int(at)] = {**parts[int(at)], last: text}
    return {**item, name: parts}


def _whole(own: dict[str, Any], message: SessionMessage) -> dict[str, Any]:
    """An item with its text; without, where somebody changed the file so that it has no place."""
    path = message.extra.get(_TEXT)
    if not isinstance(path, str):
        return own
    try:
        return _with(own, path, message.content) if _at(own, path) is None else own
    except (LookupError, TypeError, ValueError):
        return own


def _at(item: dict[str, Any], path: str) -> Any:
    if "/" not in path:
        return item[path]
    name, at, last = path.split("/")
    return item[name][int(at)][last]


def _part(part: dict[str, Any]) -> str:
    for name in ("text", "refusal", "stdout"):
        if isinstance(part.get(name), str):
            return part[name]
    kind = _text(part.get("type"))
    if "image" in kind or "screenshot" in kind:
        return "[image]"
    return f"[file: {_text(part.get('filename')) or 'unnamed'}]" if "file" in kind else ""


def _call_of(item: dict[str, Any], kind: str) -> dict[str, Any]:
    given = _first(item, _GIVEN)
    if isinstance(given, str):
        try:
            given = json_codec.decode(given.encode("utf-8", "surrogatepass"))
        except ValueError:
            given = {"input": given}
    id = _text(item.get("call_id") or item.get("id"))
    name = _text(item.get("name")) or kind.removesuffix("_call")
    call = {"id": id, "name": name, "arguments": given}
    if kind in _HOSTED:
        output = item.get("output")
        call["result"] = output if isinstance(output, str) else _text(item.get("status")) or "done"
    return call


def _made_call(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a call that another program recorded; without an id it has none."""
    call = tool_call_stubs.read_call(data)
    if not call.id:
        return []
    made = {
        "arguments": json_codec.encode(call.arguments).decode("utf-8"),
        "call_id": call.id,
        "name": _NO_NAME.sub("_", call.name)[:64] or "tool",
        "type": "function_call",
    }
    result = tool_call_stubs.own_result(data)
    return [made] if result is None else [made, _output(call.id, result.value)]


def _answer(message: SessionMessage) -> dict[str, Any]:
    if message.tool_call_id:
        return _output(message.tool_call_id, message.content)
    return {"content": message.content, "role": "assistant"}


def _output(call_id: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json_codec.encode(value).decode("utf-8")
    return {"call_id": call_id, "output": text, "type": "function_call_output"}


def _first(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
