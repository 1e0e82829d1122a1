"""Conversion of messages and tool calls to plain dicts and back.

Unknown keys of a dict are stored in the field `extra` and written beside the known keys. If a
format uses the same key for itself, the unknown key is written into the object `cortext_extra`. So
a session is equal after a round trip through every format.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from cortext.model.ids import derived_id
from cortext.model.json_values import parse_time

if TYPE_CHECKING:
    from cortext.model.message import SessionMessage, ToolInvocation

ESCAPED = "cortext_extra"
NO_NAMES: Mapping[str, str] = {}
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def merge_extra(data: dict[str, Any], extra: Mapping[str, Any], reserved: frozenset[str]) -> None:
    """Add the unknown keys `extra` to the dict `data` of a record.

    Keys in `reserved`, which the format uses itself, are added inside of `cortext_extra`.
    """
    escaped = {key: value for key, value in extra.items() if key in reserved or key == ESCAPED}
    if not escaped:
        data.update(extra)
        return
    data.update((key, value) for key, value in extra.items() if key not in escaped)
    data[ESCAPED] = escaped


def take_extra(unknown: dict[str, Any]) -> dict[str, Any]:
    """Return the field `extra` from the unknown keys of a dict, as the inverse of `merge_extra`."""
    escaped = unknown.pop(ESCAPED, None)
    if isinstance(escaped, dict):
        unknown.update(cast("dict[str, Any]", escaped))
    elif escaped is not None:
        unknown[ESCAPED] = escaped
    return unknown


def as_dict(value: Any) -> dict[str, Any]:
    """Return `value` if it is a dict (a JSON object); ValueError otherwise."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    found = _JSON_WORDS.get(cast("type[Any]", type(value)), "a value")
    raise ValueError(f"a JSON object was expected, not {found}")


def dicts(value: Any, where: str) -> list[dict[str, Any]]:
    """Return `value` if it is a list of dicts, or an empty list for None; ValueError otherwise.

    `where` names the value in the error.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{where} is not a list")
    return [as_dict(item) for item in cast("list[Any]", value)]


_JSON_WORDS: dict[type[Any], str] = {
    list: "a list", str: "text", int: "a number", float: "a number", bool: "true or false",
    type(None): "null",
}  # fmt: skip


def convert(data: dict[str, Any], kind: type[_Struct]) -> _Struct:
    """Convert a dict to a struct of the type `kind`; ValueError names a field of the wrong type."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def message_to_dict(
    message: SessionMessage,
    names: Mapping[str, str] = NO_NAMES,
    reserved: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "role": message.role,
        "content": message.content,
        "timestamp": iso(message.timestamp),
        "id": message.id,
    }
    for ours in _OPTIONAL:
        value = getattr(message, ours)
        if value is not None:
            data[names.get(ours, ours)] = value
    if message.extra:
        merge_extra(data, message.extra, reserved or message_keys(names))
    return data


def invocation_to_dict(invocation: ToolInvocation) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": invocation.id,
        "tool_name": invocation.tool_name,
        "arguments": invocation.arguments,
        "result": invocation.result,
        "duration": invocation.duration,
        "success": invocation.success,
        "error": invocation.error,
        "timestamp": iso(invocation.timestamp),
    }
    merge_extra(data, invocation.extra, frozenset(data))
    return data


def iso(when: datetime) -> str:
    """Return a UTC time as ISO 8601 text that ends with `Z`, as in all files of cortext."""
    return when.isoformat().replace("+00:00", "Z")


_OPTIONAL = ("tool_calls", "tool_call_id", "name", "tokens", "structured_data")


def message_keys(names: Mapping[str, str] = NO_NAMES) -> frozenset[str]:
    """Return the keys of a message's dict. `names` maps field names to other keys."""
    ours = ("role", "content", "timestamp", "id", *_OPTIONAL)
    return frozenset(names.get(name, name) for name in ours)


def record_from_dict(
    data: dict[str, Any], names: Mapping[str, str], kind: type[_Struct], identity: tuple[str, ...]
) -> _Struct:
    """Convert a dict to a message or tool call, as `kind` says; ValueError if a field is wrong.

    `names` maps field names to other keys in the dict. A record without an id gets an id that is
    computed from its time and the fields in `identity`. So every reading gives the same id.
    """
    unknown = dict(data)
    known: dict[str, Any] = {}
    for ours in kind.__struct_fields__:
        wire = names.get(ours, ours)
        if ours != "extra" and unknown.get(wire) is not None:
            known[ours] = unknown.pop(wire)
        elif ours != "extra":
            unknown.pop(wire, None)
    if "timestamp" not in known:
        raise ValueError("has no timestamp")
    known["timestamp"] = parse_time(known["timestamp"])
    if not known.get("id"):
        parts = (str(known.get(name, "")) for name in identity)
        known["id"] = derived_id(iso(known["timestamp"]), *parts)
    record = convert(known, kind)
    extra = take_extra(unknown)
    return msgspec.structs.replace(record, extra=extra) if extra else record
