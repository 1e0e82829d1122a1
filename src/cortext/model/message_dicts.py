"""Convert messages and tool calls to plain dicts, and back.

A dict may have keys that cortext does not know. They are stored in the field `extra` of the message
or tool call, and written next to the known keys. If the file format itself uses a key of the same
name, the unknown key is written into the object `cortext_extra`. So no key is lost when a session
is written in any format and read again.
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
    """Add the unknown keys in `extra` to `data`, the dict of a session, message or tool call.

    `reserved` has the keys that the file format itself uses. An unknown key with such a name is
    added to the object `cortext_extra` in `data`.
    """
    escaped = {key: value for key, value in extra.items() if key in reserved or key == ESCAPED}
    if not escaped:
        data.update(extra)
        return
    data.update((key, value) for key, value in extra.items() if key not in escaped)
    data[ESCAPED] = escaped


def take_extra(unknown: dict[str, Any]) -> dict[str, Any]:
    """Return the value for the field `extra`, made from the unknown keys of a dict.

    This function reverses `merge_extra`: if `unknown` has an object `cortext_extra`, the keys in
    this object become keys of `unknown` again. The dict `unknown` is changed and returned.
    """
    escaped = unknown.pop(ESCAPED, None)
    if isinstance(escaped, dict):
        unknown.update(cast("dict[str, Any]", escaped))
    elif escaped is not None:
        unknown[ESCAPED] = escaped
    return unknown


def as_dict(value: Any) -> dict[str, Any]:
    """Return `value` if it is a dict (a JSON object). Otherwise raise ValueError."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    found = _JSON_WORDS.get(cast("type[Any]", type(value)), "a value")
    raise ValueError(f"a JSON object was expected, not {found}")


def dicts(value: Any, where: str) -> list[dict[str, Any]]:
    """Return `value` if it is a list of dicts, or an empty list if it is None.

    Raises ValueError for other values. `where` is the name of the value in the error message.
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
    """Convert a dict to a struct of the type `kind`.

    Raises ValueError if a field has a value of the wrong type. The error message names the field.
    """
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
    for field in _OPTIONAL:
        value = getattr(message, field)
        if value is not None:
            data[names.get(field, field)] = value
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
    """Return a UTC time as ISO 8601 text that ends with `Z`, as cortext writes it in all files."""
    return when.isoformat().replace("+00:00", "Z")


_OPTIONAL = ("tool_calls", "tool_call_id", "name", "tokens", "structured_data")


def message_keys(names: Mapping[str, str] = NO_NAMES) -> frozenset[str]:
    """Return the known keys of the dict of a message.

    `names` has the keys of the fields that have another name in the dict.
    """
    fields = ("role", "content", "timestamp", "id", *_OPTIONAL)
    return frozenset(names.get(name, name) for name in fields)


def record_from_dict(
    data: dict[str, Any], names: Mapping[str, str], kind: type[_Struct], identity: tuple[str, ...]
) -> _Struct:
    """Convert a dict to a message or a tool call. `kind` is the class of the result.

    `names` maps a field of `kind` to its key in the dict, if the two differ. If the dict has no id,
    the id is computed from the time and the fields in `identity`. So the same dict always gets the
    same id. Raises ValueError if the time is missing, or if a field has a wrong value.
    """
    unknown = dict(data)
    known: dict[str, Any] = {}
    for field in kind.__struct_fields__:
        wire = names.get(field, field)
        if field != "extra" and unknown.get(wire) is not None:
            known[field] = unknown.pop(wire)
        elif field != "extra":
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
