"""Salvage the fields of a damaged head, which is everything of a session but its messages.

The functions work on bytes. They read and write no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from cortext.features.doctor.problem import WARNING, Trouble, reword_decode_error
from cortext.features.doctor.salvage.json_scan import find_fields
from cortext.features.doctor.salvage.text_encoding import (
    convert_to_utf8,
    decode_text,
    describe_bad_text,
    repair_characters,
    repair_value_characters,
    split_conflict,
)
from cortext.formats.folder import FOLDER, TOKENS
from cortext.formats.head_and_lines import Format, head_to_dict, join
from cortext.formats.log import LOG
from cortext.formats.record_lines import RecordBlock
from cortext.model import json_codec as codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.session_head import HEAD
from cortext.model.title import generate_title
from cortext.stores.damage_report import refuse_newer
from cortext.stores.workspace_layout import is_type

Head = dict[str, Any]
_Part = tuple[str, Any]
"""A field: its name and its value."""
_VERSION = re.compile(rb'\{\s*(?:"type"\s*:\s*"[^"]*"\s*,\s*)?"version"\s*:\s*"?(\d[\d.]*)')
_RECORD = re.compile(rb'\{\s*(?:"type"\s*:\s*"turn"\s*,\s*)?"(?:role|content)"\s*:')
_TIMES = ("last_active", "updated_at", "created_at")
_FIELDS = {key.path[0] for table in (HEAD, LOG.head, FOLDER.head) for key in table.keys} - {"id"}


class SalvagedHead(NamedTuple):
    """The fields of a session head, and its damage. `head` is {} if no field can be read."""

    head: Head
    troubles: Sequence[Trouble]


def salvage_head(
    data: bytes, decode: Callable[[bytes], Head], line: int | None = None
) -> SalvagedHead:
    """Return the session head in the bytes of a file or line, with every field that can be read.

    `decode` decodes a sound head and raises ValueError for other bytes. `line` is the line number
    for the damage report, or None.
    """
    try:
        head = decode(data)
    except ValueError as error:
        return _damaged(data, decode, reword_decode_error(str(error)), line)
    if (whole := repair_characters(data)) is not None:
        text = f"{describe_bad_text(data)}, in the head"
        return SalvagedHead(decode(whole), [Trouble(text, line, WARNING)])
    return SalvagedHead(head, ())


def _damaged(
    data: bytes, decode: Callable[[bytes], Head], why: str, line: int | None
) -> SalvagedHead:
    if not data.strip(b"\0 \r\n\t"):
        return SalvagedHead({}, [Trouble("it is empty, and was to hold the head", line)])
    plain, was = convert_to_utf8(data)
    if was:
        return _also(salvage_head(plain, decode, line), f"the head is written in {was}", line)
    if sides := split_conflict(data):
        text = "git left conflict markers in the head: our side of it is used"
        ours, theirs = (salvage_head(side, decode, line) for side in (sides.ours, sides.theirs))
        return _also(ours._replace(head=theirs.head | ours.head), text, line)
    text = decode_text(data.replace(b"\0", b""))[0]
    found = [repair_value_characters(head) for head in decode_objects(text) if _is_head(head)]
    if len(found) > 1:
        said = f"it holds {len(found)} heads: the newest counts"
        return SalvagedHead(choose_newest(found), [Trouble(said, line)])
    head = found[0] if found else repair_value_characters({"status": "paused"} | find_fields(text))
    return SalvagedHead(head, [Trouble(f"the head cannot be read whole: {why}", line)])


def _also(found: SalvagedHead, text: str, line: int | None) -> SalvagedHead:
    return found._replace(troubles=[Trouble(text, line, WARNING), *found.troubles])


def build_session(
    head: Head, name: str, messages: Sequence[SessionMessage], when: datetime, format: Format
) -> Session:
    """Return a session with these messages and the valid fields of a damaged head.

    `name` becomes the id of the session. Missing fields are made up from the messages. If neither
    the head nor a message has a time, the session began at `when`.
    """
    head = {key: value for key, value in head.items() if key not in TOKENS}
    lines = RecordBlock(list(messages), [], [])
    try:
        session = join(dict(head), lines, format)
    except ValueError:
        known = head_to_dict(make_up_session(name, messages, when), format)
        known.pop(format.count_key, None)
        nested = {key.path[1]: key.path[0] for key in format.head.keys if len(key.path) > 1}
        fields = merge_fitting_fields(
            head, known, lambda one: join(one, RecordBlock([], [], []), format), nested
        )
        session = join(fields, lines, format)
    session.id = name
    return session


def merge_fitting_fields(
    head: Head, known: Head, fits: Callable[[Head], object], nested: Mapping[str, str] | None = None
) -> Head:
    """Return the valid head `known`, updated with every valid field of the damaged head `head`.

    `fits` raises ValueError for a head with an invalid field. `nested` maps the name of an inner
    field to the name of the field that contains it.
    """
    known = dict(known)
    inside = nested or {}
    _fit(list(_parts(head, inside)), known, fits, frozenset(inside.values()))
    return known


def _fit(
    parts: Sequence[_Part], known: Head, fits: Callable[[Head], object], holders: frozenset[str]
) -> None:
    """Add all fields in `parts` to `known` if they are valid; otherwise try each half of them.

    Halving finds one damaged field among thousands in a few steps.
    """
    if not parts:
        return
    new = _with(known, parts, holders)
    try:
        fits(dict(new))
    except ValueError:
        if len(parts) > 1:
            half = len(parts) // 2
            _fit(parts[:half], known, fits, holders)
            _fit(parts[half:], known, fits, holders)
        return  # Otherwise this single field is the damaged one.
    known.update(new)


def _with(known: Head, parts: Sequence[_Part], holders: frozenset[str]) -> Head:
    """Return a head with these fields added. Inner fields are merged into their outer field.

    `holders` are the names of the outer fields.
    """
    new = dict(known)
    copied: set[str] = set()
    for name, value in parts:
        old = new.get(name)
        if name not in holders or not (isinstance(value, dict) and isinstance(old, dict)):
            new[name] = value
            continue
        if name not in copied:
            new[name] = old = dict(cast("Head", old))
            copied.add(name)
        cast("Head", old).update(cast("Head", value))
    return new


def _parts(head: Head, nested: Mapping[str, str]) -> Iterator[_Part]:
    """Yield the fields of a head one by one, and each inner field separately."""
    for name, value in head.items():
        if name in nested.values() and isinstance(value, dict):
            yield from ((name, {key: item}) for key, item in cast("Head", value).items())
        elif name in nested and nested[name] not in head:
            yield nested[name], {name: value}
        else:
            yield name, value


def refuse_newer_head(data: bytes, path: str) -> None:
    """Raise NewerVersionError if a later release of cortext wrote this head, sound or damaged."""
    try:
        value: Any = codec.decode(data)
    except ValueError:
        value = None
    refuse_newer(cast("Head", value) if isinstance(value, dict) else version_at_start(data), path)


def version_at_start(data: bytes) -> Head:
    """Return the field `version` at the start of an unreadable file, as a dict; {} if missing."""
    found = _VERSION.match(data)
    return {"version": found[1].decode()} if found else {}


def choose_newest(heads: Sequence[Head]) -> Head:
    """Return the head with the latest time; of several with the same time, the last one."""
    latest = max(range(len(heads)), key=lambda place: (_time(heads[place]), place))
    return heads[latest]


def _time(head: Mapping[str, Any]) -> str:
    return next((str(head[name]) for name in _TIMES if head.get(name)), "")


def _is_head(value: Head) -> bool:
    return "role" not in value and len(_FIELDS & value.keys()) > 1


def has_fields(head: Head) -> bool:
    """Return whether a salvaged head has a readable field besides the status and the id."""
    return bool((_FIELDS - {"status"}) & head.keys())


def cut_before_records(data: bytes) -> bytes:
    """Return the bytes before the first message record, wherever in a line that record starts.

    The caller searches these bytes for fields of the head. Fields of a record must not be among
    them.
    """
    found = _RECORD.search(data)
    return data[: found.start()] if found else data


def decode_objects(text: str) -> Iterator[Head]:
    """Yield the outermost JSON objects in a text in order, up to the first invalid object."""
    import json

    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield cast("Head", value)
        at = text.find("{", end)


def make_up_session(name: str, messages: Sequence[SessionMessage], when: datetime) -> Session:
    """Return a session whose head is made up from its messages and its name.

    The name may state a type and a topic, as in `001-debug-slow-parser`. Without messages, the
    session began at `when`.
    """
    times = [message.timestamp for message in messages] or [when]
    session = Session(name, created_at=times[0], updated_at=max(times), status="paused")
    session.messages = list(messages)
    number, _, rest = name.partition("-")
    kind, _, topic = rest.partition("-")
    if number.isdecimal() and kind and is_type(kind):
        session.kind = kind
    asked = any(message.role == "user" for message in messages)
    session.title = generate_title(session) if asked or not topic else topic.replace("-", " ")
    return session
