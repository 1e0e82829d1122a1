"""Convert the head of a session to a dict, and back.

The head has all fields of a session except its messages and tool calls. Each file format has its
own names for these fields. The names that a format uses are called its dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from cortext.model import message_dicts
from cortext.model.json_values import as_utc, json_copy, parse_time
from cortext.model.message import SessionMessage, ToolInvocation

if TYPE_CHECKING:
    from cortext.model.session import Session

VERSION = "1.0"
"""The version of every format that this release writes."""


class HeadField(NamedTuple):
    """One field of a session, and its place in the dict that a file format stores.

    `ours` is the name of the field in `Session`. `path` has the keys that lead to the value in the
    dict. If `always` is true, the field is written even if it is empty.
    """

    ours: str
    path: tuple[str, ...]
    always: bool


class HeadTable(msgspec.Struct, frozen=True):
    """A dialect: the names that one file format uses for the fields of a session's head.

    - `keys`: the place of each field
    - `reserved`: the top-level keys that the format uses
    - `words`: for each status, the word that the format uses
    - `nulls`: whether an empty field is written as null
    """

    keys: tuple[HeadField, ...]
    reserved: frozenset[str]
    words: Mapping[str, str]
    nulls: bool


def table(
    names: Iterable[str],
    *,
    always: Iterable[str],
    rename: Mapping[str, str] | None = None,
    own: Iterable[str] = (),
    words: Mapping[str, str] | None = None,
    nulls: bool = False,
) -> HeadTable:
    """Return the dialect of a file format.

    - `names`: the names of the fields, in the order in which they are stored
    - `always`: the fields that are written even if they are empty
    - `rename`: the keys for fields that the format stores under another name, joined by dots
    - `own`: further top-level keys that the format uses

    `HeadTable` explains `words` and `nulls`.
    """
    places = rename or {}
    required = frozenset(always)
    keys = tuple(
        HeadField(name, tuple(places.get(name, name).split(".")), name in required)
        for name in names
    )
    reserved = frozenset(key.path[0] for key in keys) | {"version", *own}
    return HeadTable(keys, reserved, words or {}, nulls)


FIELDS = (
    "id", "title", "kind", "status", "created_at", "updated_at", "working_dir", "model",
    "total_prompt_tokens", "total_completion_tokens", "tags", "metadata", "owner", "parent_id",
    "stop_reason", "summary", "agent", "command", "prompt_hash", "tools", "native", "pending",
)  # fmt: skip

HEAD = table(
    FIELDS,
    always=(
        "id", "title", "created_at", "updated_at", "working_dir", "model", "total_prompt_tokens",
        "total_completion_tokens", "tags", "metadata",
    ),
    own=("messages", "tool_history"),
)  # fmt: skip
"""The dialect of document files and of `Session.to_dict`, which renames no field."""

_EMPTY: Mapping[str, Any] = {
    "status": "active",
    "total_prompt_tokens": 0,
    "total_completion_tokens": 0,
    "tags": [],
    "metadata": {},
    "tools": [],
    "native": [],
    "pending": None,
}
_Kind = tuple[Callable[[Any], bool], str]
_TEXT: _Kind = (lambda value: isinstance(value, str), "text")
_TIME: _Kind = (lambda value: isinstance(value, datetime), "a datetime")
_COUNT: _Kind = (lambda value: type(value) is int, "a whole number")
_WORDS: _Kind = (lambda value: _all_are(value, str), "a list of texts")
_OBJECT: _Kind = (lambda value: isinstance(value, dict), "an object")
_KINDS: Mapping[str, _Kind] = {
    "created_at": _TIME,
    "updated_at": _TIME,
    "total_prompt_tokens": _COUNT,
    "total_completion_tokens": _COUNT,
    "tags": _WORDS,
    "tools": _WORDS,
    "metadata": _OBJECT,
    "extra": _OBJECT,
    "native": (lambda value: _all_are(value, dict), "a list of objects"),
    "status": (lambda value: value in ("active", "paused", "completed"), "a status"),
    "pending": (lambda value: True, "anything"),
}


def _all_are(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, list) and all(isinstance(v, kind) for v in cast("list[Any]", value))


_TIMES = frozenset(("created_at", "updated_at"))


def check_head(session: Session, names: Iterable[str] = (*FIELDS, "extra")) -> None:
    """Raise ValueError if a field of the session has a value of the wrong type.

    `names` has the fields to check. The fields `messages` and `tool_history` are always checked.
    """
    for ours in names:
        value = getattr(session, ours)
        fits, kind = _KINDS.get(ours, _TEXT)
        if not fits(value):
            raise ValueError(f"{ours} must be {kind}, not {value!r:.60}")
    if not _all_are(session.messages, SessionMessage):
        raise ValueError("messages must be a list of SessionMessage")
    if not _all_are(session.tool_history, ToolInvocation):
        raise ValueError("tool_history must be a list of ToolInvocation")


def encode_head(session: Session, dialect: HeadTable) -> dict[str, Any]:
    """Convert a session's head (all fields except messages and tool calls) to a dict.

    `dialect` has the names for the fields. Raises ValueError if a value has the wrong type, or if
    JSON cannot store it.
    """
    check_head(session)
    data: dict[str, Any] = {"version": VERSION}
    for ours, path, always in dialect.keys:
        value = getattr(session, ours)
        empty = value == _EMPTY.get(ours, "")
        if empty and not always:
            continue
        if isinstance(value, datetime):
            value = message_dicts.iso(as_utc(value))
        elif ours == "status":
            value = dialect.words.get(value, value)
        elif empty and dialect.nulls:
            value = None
        _set_at(data, path, json_copy(value, ours))
    extra = json_copy(session.extra, "extra")
    for parent in _parents(dialect):
        _merge_nested(data, extra, parent, dialect)
    message_dicts.merge_extra(data, extra, dialect.reserved)
    return data


def decode_head(data: dict[str, Any], dialect: HeadTable) -> dict[str, Any]:
    """Convert the dict of a session's head to the fields of a `Session`.

    `dialect` has the names of the fields in the dict. Unknown keys are stored in the field `extra`.
    Raises ValueError if `created_at` is missing, or if a time cannot be parsed.
    """
    rest = dict(data)
    rest.pop("version", None)
    for parent in _parents(dialect):
        if isinstance(rest.get(parent), dict):
            rest[parent] = dict(rest[parent])
    words = {theirs: ours for ours, theirs in dialect.words.items()}
    fields: dict[str, Any] = {}
    for ours, path, _ in dialect.keys:
        value = _pop_at(rest, path)
        if value is None:
            continue
        if ours in _TIMES:
            value = parse_time(value)
        elif ours == "status" and isinstance(value, str):
            value = words.get(value, value)
        fields[ours] = value
    for parent in _parents(dialect):
        if rest.get(parent) == {}:
            del rest[parent]
    if "created_at" not in fields:
        raise ValueError("is not a session: created_at is missing")
    fields.setdefault("updated_at", fields["created_at"])
    fields.setdefault("id", "")
    fields["extra"] = message_dicts.take_extra(rest)
    return fields


def newer_version(data: Mapping[str, Any]) -> str | None:
    """Return the format version in `data` if this release cannot read it, otherwise None.

    `data` is the dict of a session's head.
    """
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, (str, int, float)):
        return None
    if _is_too_long(version):
        return None
    major = str(version).split(".")[0]
    if major.isdecimal() and int(major) > int(VERSION.split(".")[0]):
        return str(version)
    return None


def _is_too_long(version: str | float) -> bool:
    """Return whether a version has so many digits that Python may refuse to convert it."""
    digits = 20
    return len(version) > digits if isinstance(version, str) else abs(version) >= 10**digits


def _parents(dialect: HeadTable) -> set[str]:
    return {key.path[0] for key in dialect.keys if len(key.path) > 1}


def _set_at(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value


def _pop_at(data: dict[str, Any], path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        inner = data.get(name)
        if not isinstance(inner, dict):
            return None
        data = cast("dict[str, Any]", inner)
    return data.pop(path[-1], None)


def _merge_nested(
    data: dict[str, Any], extra: dict[str, Any], parent: str, dialect: HeadTable
) -> None:
    """Move the unknown keys of a nested object from `extra` back into the object.

    The nested object is `data[parent]`, and its unknown keys are in `extra[parent]`. If one of the
    unknown keys has the same name as a known key of the object, nothing is moved.
    """
    unknown = extra.get(parent)
    ours = {key.path[1] for key in dialect.keys if key.path[0] == parent}
    if isinstance(unknown, dict) and unknown and not ours.intersection(cast("Any", unknown)):
        data.setdefault(parent, {}).update(extra.pop(parent))
