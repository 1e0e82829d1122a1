"""Convert messages of cortext to messages of chat-completions APIs, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cortext.model.json_values import json_copy
from cortext.model.message_dicts import as_dict

if TYPE_CHECKING:
    from cortext.model.message import SessionMessage

_KEY = "llm_message"
"""The key in `extra` for data of an API message for which `SessionMessage` has no field.

This data is content that is not plain text, and unknown keys.
"""
_OPTIONAL = ("tool_calls", "tool_call_id", "name")


def to_llm_message(message: SessionMessage) -> dict[str, Any]:
    """Convert a message to the form of chat-completions APIs. The caller may change the result."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    for name in _OPTIONAL:
        value = getattr(message, name)
        if value is not None:
            data[name] = value
    stored = message.extra.get(_KEY)
    rest = cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
    # The text may have been edited in the meantime, for example to redact it.
    if "content" in rest and _read_text(rest["content"]) == message.content:
        data["content"] = rest["content"]
    return json_copy({**rest, **data}, "the message", around=8)


def fields_of_llm_message(data: Any) -> dict[str, Any]:
    """Convert a message of a chat-completions API to the fields of a `SessionMessage`.

    Raises ValueError if the content is neither text nor a list of parts.
    """
    rest = {key: value for key, value in as_dict(data).items() if value is not None}
    fields = {name: rest.pop(name) for name in _OPTIONAL if name in rest}
    fields["role"] = rest.pop("role", None)
    content = rest.pop("content", None)
    fields["content"] = text = _read_text(content)
    if text is None:
        raise ValueError(f"content must be text or a list of parts, not {type(content).__name__}")
    if content != text:
        rest["content"] = content
    if rest:
        fields["extra"] = {_KEY: rest}
    return fields


def _read_text(content: Any) -> str | None:
    """Return the text in the content of an API message. For null, this is "".

    Return None if the content is anything else than text, a list of parts or null.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [as_dict(part) for part in cast("list[Any]", content) if isinstance(part, dict)]
    return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))
