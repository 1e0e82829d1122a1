"""Salvage the fields of a damaged head, which is a session without its messages.

The functions work on bytes. They read and write no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from cortext.features.doctor.check_results import WARNING, Trouble, reword_decode_error
from cortext.features.doctor.salvage.damaged_text import (
    convert_to_utf8,
    decode_text,
    describe_bad_text,
    repair_characters,
    repair_value_characters,
    split_conflict,
)
from cortext.features.doctor.salvage.json_scan import find_fields
from cortext.formats.folder import FOLDER, TOKENS
from cortext.formats.line_formats import Format, head_to_dict, join
from cortext.formats.log import LOG
from cortext.formats.message_lines import RecordBlock
from cortext.model import json_codec as codec
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.session_head_codec import HEAD
from cortext.model.title import generate_title
from cortext.stores.damage_checks import refuse_newer
from cortext.stores.workspace_layout import is_type

Head = dict[str, Any]
_Field = tuple[str, Any]
"""A field: its name and its value."""
_VERSION = re.compile(rb'\{\s*(?:"type"\s*:\s*"[^"]*"\s*,\s*)?"version"\s*:\s*"?(\d[\d.]*)')
_FIRST_RECORD = re.compile(rb'\{\s*(?:"type"\s*:\s*"turn"\s*,\s*)?"(?:role|content)"\s*:')
_TIMES = ("last_active", "updated_at", "created_at")
_FIELDS = {key.path[0] for table in (HEAD, LOG.head, FOLDER.head) for key in table.keys} - {"id"}


class SalvagedHead(NamedTuple):
    """The readable fields of a head (a session without its messages), and the damage of the head.

    `head` is {} if no field can be read.
    """

    head: Head
    troubles: Sequence[Trouble]


def salvage_head(
    data: bytes, decode: Callable[[bytes], Head], line: int | None = None
) -> SalvagedHead:
    """Return every readable field of a head, which is a session without its messages.

    `data` is the file or the line with the head. `decode` decodes an undamaged head, and raises
    ValueError for other bytes. `line` is the line number for the damage report, or None.
    """
    try:
        head = decode(data)
    except ValueError as error:
        return _salvage_damaged(data, decode, reword_decode_error(str(error)), line)
    if (repaired := repair_characters(data)) is not None:
        text = f"{describe_bad_text(data)}, in the head"
        return SalvagedHead(decode(repaired), [Trouble(text, line, WARNING)])
    return SalvagedHead(head, ())


def _salvage_damaged(
    data: bytes, decode: Callable[[bytes], Head], why: str, line: int | None
) -> SalvagedHead:
    if not data.strip(b"\0 \r\n\t"):
        return SalvagedHead({}, [Trouble("the head is empty", line)])
    plain, was = convert_to_utf8(data)
    if was:
        return _add_trouble(
            salvage_head(plain, decode, line), f"the head is encoded as {was}", line
        )
    if sides := split_conflict(data):
        text = "the head contains git conflict markers; our side is used"
        ours, theirs = (salvage_head(side, decode, line) for side in (sides.ours, sides.theirs))
        return _add_trouble(ours._replace(head=theirs.head | ours.head), text, line)
    text = decode_text(data.replace(b"\0", b""))[0]
    found = [repair_value_characters(head) for head in decode_objects(text) if _is_head(head)]
    if len(found) > 1:
        damage = f"the file contains {len(found)} heads; the newest head is used"
        return SalvagedHead(choose_newest(found), [Trouble(damage, line)])
    head = found[0] if found else repair_value_characters({"status": "paused"} | find_fields(text))
    return SalvagedHead(head, [Trouble(f"the head cannot be read completely: {why}", line)])


def _add_trouble(found: SalvagedHead, text: str, line: int | None) -> SalvagedHead:
    return found._replace(troubles=[Trouble(text, line, WARNING), *found.troubles])


def build_session(
    head: Head, name: str, messages: Sequence[SessionMessage], when: datetime, format: Format
) -> Session:
    """Return a session with these messages and the valid fields of the damaged `head`.

    `name` becomes the id of the session. Missing fields are derived from the messages. If neither
    the head nor a message has a time, `when` becomes the start time.
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
    """Return the head `known`, updated with every valid field of the damaged head `head`.

    A head is a session without its messages. `fits` raises ValueError for a head with an invalid
    field. `nested` maps the name of an inner field to the name of the field that contains it.
    """
    known = dict(known)
    outer_names = nested or {}
    _add_valid_fields(
        list(_split_fields(head, outer_names)), known, fits, frozenset(outer_names.values())
    )
    return known


def _add_valid_fields(
    parts: Sequence[_Field], known: Head, fits: Callable[[Head], object], holders: frozenset[str]
) -> None:
    """Add every valid field in `parts` to the dict `known`, which has the fields of a session.

    If the fields in `parts` are not valid together, split `parts` into two halves, and add each
    half in the same way. This finds one damaged field among thousands in a few steps. `fits` raises
    ValueError if a dict has an invalid field. `holders` are the names of fields that contain other
    fields.
    """
    if not parts:
        return
    new = _add_fields(known, parts, holders)
    try:
        fits(dict(new))
    except ValueError:
        if len(parts) > 1:
            half = len(parts) // 2
            _add_valid_fields(parts[:half], known, fits, holders)
            _add_valid_fields(parts[half:], known, fits, holders)
        return  # If only one field is left, it is the damaged field.
    known.update(new)


def _add_fields(known: Head, parts: Sequence[_Field], holders: frozenset[str]) -> Head:
    """Return the dict `known` with the fields in `parts` added.

    Inner fields are merged into their outer field. `holders` are the names of the outer fields.
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


def _split_fields(head: Head, nested: Mapping[str, str]) -> Iterator[_Field]:
    """Yield the fields of `head` one by one. A field with inner fields is yielded in parts.

    Each of these parts has one inner field. `nested` maps the name of an inner field to the name of
    the field that contains it.
    """
    for name, value in head.items():
        if name in nested.values() and isinstance(value, dict):
            yield from ((name, {key: item}) for key, item in cast("Head", value).items())
        elif name in nested and nested[name] not in head:
            yield nested[name], {name: value}
        else:
            yield name, value


def refuse_newer_head(data: bytes, path: str) -> None:
    """Raise NewerVersionError if a later release of cortext wrote the head in `data`.

    A head is a session without its messages. It may be damaged. `path` is its file, for the error
    message.
    """
    try:
        value: Any = codec.decode(data)
    except ValueError:
        value = None
    refuse_newer(cast("Head", value) if isinstance(value, dict) else version_at_start(data), path)


def version_at_start(data: bytes) -> Head:
    """Return the field `version` from the start of an unreadable file, as a dict.

    Return {} if the file does not start with this field.
    """
    found = _VERSION.match(data)
    return {"version": found[1].decode()} if found else {}


def choose_newest(heads: Sequence[Head]) -> Head:
    """Return the head (a session without its messages) with the latest time.

    If several heads have this time, return the last of them.
    """
    latest = max(range(len(heads)), key=lambda place: (_latest_time(heads[place]), place))
    return heads[latest]


def _latest_time(head: Mapping[str, Any]) -> str:
    return next((str(head[name]) for name in _TIMES if head.get(name)), "")


def _is_head(value: Head) -> bool:
    return "role" not in value and len(_FIELDS & value.keys()) > 1


def has_fields(head: Head) -> bool:
    """Return whether a salvaged head has a readable field other than the status and the id."""
    return bool((_FIELDS - {"status"}) & head.keys())


def cut_before_records(data: bytes) -> bytes:
    """Return the bytes of a file before its first message record.

    The record may start inside a line. The caller searches the returned bytes for fields of the
    session, so they must not contain fields of messages.
    """
    found = _FIRST_RECORD.search(data)
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
    """Return a session with these messages. Its other fields come from the messages and `name`.

    The name may contain a type and a topic, as in `001-debug-slow-parser`. If there are no
    messages, `when` becomes the start time.
    """
    times = [message.timestamp for message in messages] or [when]
    session = Session(name, created_at=times[0], updated_at=max(times), status="paused")
    session.messages = list(messages)
    number, _, rest = name.partition("-")
    kind, _, topic = rest.partition("-")
    if number.isdecimal() and kind and is_type(kind):
        session.kind = kind
    has_request = any(message.role == "user" for message in messages)
    session.title = generate_title(session) if has_request or not topic else topic.replace("-", " ")
    return session
