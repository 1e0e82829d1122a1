"""Messages as lines of JSON: the codec that the log, folder and service formats share.

A record is a message, together with the tool calls that were recorded just before the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from cortext.formats import line_checksum
from cortext.model import json_codec, message_dicts
from cortext.model.message import (
    SessionMessage,
    ToolInvocation,
    all_complete,
    invocation_from_dict,
    message_from_dict,
)

INVOCATIONS = "tool_invocations"


class RecordTable(msgspec.Struct, frozen=True):
    """The definition of the lines in one file format. A line holds a record (a message).

    - `names`: maps the name of a message field to the field's key in the line, if they differ
    - `type`: the value of the key `type` in every line, or "" if lines have no such key
    - `checksums`: whether lines are written with a checksum; lines with and without a checksum can
      always be read
    """

    names: Mapping[str, str] = {}
    type: str = ""
    checksums: bool = False

    @property
    def reserved(self) -> frozenset[str]:
        """The reserved keys: the keys that have a meaning in a line of this format.

        Another program may add its own keys to a message. If such a key has the same name as a
        reserved key, it is written into the object `cortext_extra` of the line. So it does not
        overwrite the reserved key.
        """
        own = {"type", INVOCATIONS} if self.type else {INVOCATIONS}
        return message_dicts.message_keys(self.names) | own | {line_checksum.KEY}


class Damage(NamedTuple):
    """One problem in a session's file. `fatal` is true if data that was written is missing.

    `line` is the number of the damaged line, or None if unknown. `path` is the path of the damaged
    file, or "" if unknown.
    """

    detail: str
    line: int | None = None
    fatal: bool = True
    path: str = ""


TORN = "the last line is incomplete"
"""The text with which `Damage.detail` starts if the last line of a file is incomplete."""
_MORE = "more damage follows, which is not listed line by line"
MOST_DAMAGES = 1000
"""The largest number of damages that are listed for one file, to save memory."""


def add_damage(damages: list[Damage], damage: Damage) -> None:
    """Add a damage to a list of at most `MOST_DAMAGES` damages.

    If the list is full, one further entry says that more damage follows. This entry is fatal if any
    of the unlisted damages is fatal.
    """
    if len(damages) < MOST_DAMAGES:
        damages.append(damage)
    elif len(damages) == MOST_DAMAGES:
        damages.append(damage._replace(detail=_MORE))
    elif damage.fatal and not damages[-1].fatal:
        damages[-1] = damage._replace(detail=_MORE)


class Record(msgspec.Struct, frozen=True):
    """A message, and the tool calls that were recorded just before it."""

    message: SessionMessage
    invocations: Sequence[ToolInvocation] = ()


class RecordBlock(msgspec.Struct, frozen=True):
    """The messages, tool calls and damages found in a block of lines.

    `invocations` has the tool calls, each with the number of messages before it in the block.
    """

    messages: list[SessionMessage]
    invocations: list[tuple[int, ToolInvocation]]
    damages: list[Damage]


def encode_record(
    message: SessionMessage, table: RecordTable, invocations: Sequence[ToolInvocation] = ()
) -> bytes:
    """Return a message as a line of JSON with its newline.

    The line also contains `invocations`, the tool calls just before the message.
    """
    if type(message) is not SessionMessage:
        raise ValueError(f"a message must be a SessionMessage, not {type(message).__name__}")
    if not (message.extra or invocations or table.names):
        line = json_codec.encode(message) if table.type else encode_plain(message)
        return (line_checksum.seal(line) if table.checksums else line) + b"\n"
    data: dict[str, Any] = {"type": table.type} if table.type else {}
    data.update(message_dicts.message_to_dict(message, table.names, table.reserved))
    if invocations:
        data[INVOCATIONS] = [invocation.to_dict() for invocation in invocations]
    line = json_codec.encode(data)
    return (line_checksum.seal(line) if table.checksums else line) + b"\n"


def encode_plain(message: SessionMessage) -> bytes:
    """Return a message as a JSON object without the key `type`.

    The field `extra` of the message must be empty.
    """
    return b"{" + json_codec.encode(message)[len(_TURN) :]


def decode_record(line: bytes, table: RecordTable, notes: list[str]) -> Record:
    """Parse one line as a record: a message, and the tool calls just before it.

    The checksum is not verified. Sentences about unusual things in the line are added to `notes`.
    Raises ValueError, with the reason, if the line is invalid.
    """
    data = message_dicts.as_dict(json_codec.decode(line_checksum.unseal(line), notes))
    if table.type:
        kind = data.pop("type", table.type)
        if kind != table.type:
            raise ValueError(f"a {table.type} was expected, not {kind!r:.40}")
    calls = message_dicts.dicts(data.pop(INVOCATIONS, None), INVOCATIONS)
    message = message_from_dict(data, table.names)
    return Record(message, [invocation_from_dict(item) for item in calls])


def decode_lines(
    data: bytes, table: RecordTable, first_line: int = 1, start: int = 0
) -> RecordBlock:
    """Parse all lines of `data` from the offset `start`.

    A line that cannot be parsed does not affect the other lines. It is listed in `damages` of the
    result, with its line number. `first_line` is the line number of the first parsed line.
    """
    end = data.rfind(b"\n", start) + 1 or start
    messages = _decode_plain(data, start, end, table)
    if messages is not None:
        lines = RecordBlock(messages, [], [])
    else:
        lines = RecordBlock([], [], [])
        for number, line in enumerate(data[start:end].split(b"\n")[:-1], first_line):
            _decode_line(line, number, table, lines)
    if end < len(data):
        _decode_tail(data[end:], first_line + data.count(b"\n", start), table, lines)
    _report_duplicates(lines)
    return lines


def first_records(data: bytes, table: RecordTable, count: int) -> bytes:
    """Return the lines from the start of `data` up to the message with the number `count`.

    If `data` has fewer messages, all lines are returned.
    """
    end = 0
    while count > 0 and end < len(data):
        stop = data.find(b"\n", end) + 1 or len(data)
        count -= len(decode_lines(data[end:stop], table).messages)
        end = stop
    return data[:end]


def in_time_order(messages: Sequence[SessionMessage]) -> bool:
    times = [message.timestamp for message in messages]
    return all(earlier <= later for earlier, later in pairwise(times))


def sorted_lines(data: bytes, table: RecordTable) -> bytes:
    """Return the lines of `data`, sorted by the time of their message.

    An unreadable line has no time. For the order, it gets the time of the line before it.
    """
    rows: list[tuple[datetime, bytes]] = []
    when = datetime.min.replace(tzinfo=UTC)
    for line in data.split(b"\n"):
        messages = decode_lines(line + b"\n", table).messages
        when = messages[0].timestamp if messages else when
        rows.append((when, line))
    return b"".join(line + b"\n" for _, line in sorted(rows, key=itemgetter(0)) if line)


def record_ids(data: bytes) -> list[str]:
    """Return the message ids in a block of lines. Unreadable lines are skipped."""
    try:
        return [record.id for record in _ids.decode_lines(data)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [id for line in data.split(b"\n") if (id := _id_of(line))]


class _OnlyId(msgspec.Struct):
    id: str = ""


_TURN = b'{"type":"turn",'
_UNKNOWN_TYPE = re.compile(rb'"type"\s*:\s*"turn"')
_plain = msgspec.json.Decoder(SessionMessage)
_ids = msgspec.json.Decoder(_OnlyId)
_dicts = msgspec.json.Decoder(dict[str, Any])
_KEYS = message_dicts.message_keys()
_NOT_EXTRA = frozenset((INVOCATIONS, line_checksum.KEY, message_dicts.ESCAPED))


def _id_of(line: bytes) -> str:
    try:
        value = json_codec.decode(line)
    except ValueError:
        return ""
    id = value.get("id") if isinstance(value, dict) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return id if isinstance(id, str) else ""


def may_hide_type(data: bytes, start: int = 0) -> bool:
    """Return whether `data`, from the offset `start`, may contain `"type": "turn"`.

    The fast decoder drops this key. In our log format, every message has the key, so nothing is
    lost. In a format whose messages have no key `type`, another program added the key, and cortext
    must preserve it. If this function returns True for such a format, use the slow decoder.
    """
    return _UNKNOWN_TYPE.search(data, start) is not None


def _decode_plain(
    data: bytes, start: int, end: int, table: RecordTable
) -> list[SessionMessage] | None:
    """Decode all lines of `data[start:end]` in one fast pass.

    The result is None if a line needs the slow decoder.
    """
    if table.names or (not table.type and may_hide_type(data, start)):
        return None
    try:
        messages = _decode_whole(data, start, end)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        messages = _decode_with_extra(data, start, end, table)
    return messages if messages is not None and all_complete(messages) else None


def _decode_with_extra(
    data: bytes, start: int, end: int, table: RecordTable
) -> list[SessionMessage] | None:
    """Decode all lines of `data[start:end]` in one pass, including lines with unknown keys.

    The result is None if a line needs the slow decoder. Such a line has tool calls, a checksum, or
    a value that cortext does not write.
    """
    known = _KEYS | {"type"} if table.type else _KEYS
    messages: list[SessionMessage] = []
    try:
        for line in _dicts.decode_lines(memoryview(data)[start:end]):
            extra = {key: line.pop(key) for key in [key for key in line if key not in known]}
            if not _NOT_EXTRA.isdisjoint(extra):
                return None
            message = msgspec.convert(line, SessionMessage)
            if extra:
                force_setattr(message, "extra", extra)
            messages.append(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return messages


def _decode_whole(data: bytes, start: int, end: int) -> list[SessionMessage]:
    lines = memoryview(data)[start:end]
    try:
        return _plain.decode_lines(lines)
    except msgspec.ValidationError:
        # Search for checksums only after a failure, because few files have any.
        bare = line_checksum.unseal_lines(data, start, end)
        if bare is None:
            raise
        return _plain.decode_lines(bare)


def _decode_line(line: bytes, number: int, table: RecordTable, lines: RecordBlock) -> None:
    if not line.strip():
        return
    bare = line.strip(b"\0")
    if len(bare) != len(line):
        lost = len(line) - len(bare)
        text = f"{lost} NUL bytes in place of records"
        add_damage(lines.damages, Damage(text, number))
    if bare:
        notes: list[str] = []
        try:
            _add(decode_record(bare, table, notes), lines)
        except ValueError as error:
            add_damage(lines.damages, Damage(str(error), number))
        for note in notes:
            add_damage(lines.damages, Damage(note, number, fatal=False))


def _decode_tail(tail: bytes, number: int, table: RecordTable, lines: RecordBlock) -> None:
    try:
        _add(decode_record(tail, table, []), lines)
        lines.damages.append(Damage("the last line has no newline", number, fatal=False))
    except ValueError:
        detail = f"{TORN} ({len(tail)} bytes)"
        lines.damages.append(Damage(detail, number, fatal=False))


def _add(record: Record, lines: RecordBlock) -> None:
    lines.invocations.extend((len(lines.messages), item) for item in record.invocations)
    lines.messages.append(record.message)


def _report_duplicates(lines: RecordBlock) -> None:
    seen: set[str] = set()
    ids = list(map(attrgetter("id"), lines.messages))
    if len(set(ids)) == len(ids):
        return
    for id in ids:
        if id in seen:
            text = f"two records have the id {id!r:.60}"
            add_damage(lines.damages, Damage(text, fatal=False))
        seen.add(id)
