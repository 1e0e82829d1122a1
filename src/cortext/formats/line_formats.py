"""The common part of the formats that store a session as a head and lines: log, folder and service.

The head has all fields of a session except its messages. Each line is a message, with the tool
calls that were recorded just before the message. Tool calls after the last message are in the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from cortext.formats.message_lines import INVOCATIONS, RecordBlock, RecordTable, encode_record
from cortext.model import message_dicts
from cortext.model.message import SessionMessage, ToolInvocation, invocation_from_dict
from cortext.model.session import Session
from cortext.model.session_head_codec import HeadTable, decode_head, encode_head


class Format(msgspec.Struct, frozen=True):
    """The definition of a file format that stores a session as a head and lines.

    - `head`: the keys of the head, which has all fields except the messages
    - `records`: the keys of the lines, which hold the messages
    - `count_key`: the key in the head for the number of messages at the time of writing
    - `always_counts`: whether every head has this key; otherwise a head has the key only if the
      last message is later than `updated_at`
    """

    head: HeadTable
    records: RecordTable
    count_key: str
    always_counts: bool


def with_checksums(format: Format) -> Format:
    """Return the same format, but with a checksum in every written line."""
    return replace(format, records=replace(format.records, checksums=True))


class StoredRecords(msgspec.Struct, frozen=True):
    """The messages and tool calls on disk, for a caller that writes only a new head.

    - `messages`: the messages on disk
    - `in_lines`: the ids of the tool calls that are stored in lines, together with messages
    - `in_head`: the tool calls that are stored in the old head, each with the number of messages
      before the call
    """

    messages: Sequence[SessionMessage]
    in_lines: frozenset[str]
    in_head: list[tuple[int, ToolInvocation]]


def head_to_dict(
    session: Session, format: Format, stored: StoredRecords | None = None
) -> dict[str, Any]:
    """Return the head of a session (all fields except messages) as a dict.

    The head also contains the tool calls that are not stored in lines:

    - If `stored` is None, the caller writes all lines too. The head gets the tool calls after the
      last message.
    - Otherwise the lines on disk stay as they are. The head gets every tool call that is not in
      these lines.
    """
    data = encode_head(session, format.head)
    placed = place_invocations(session)
    if stored is None:
        trailing = [pair for pair in placed if pair[0] == len(session.messages)]
    else:
        own_ids = {call.id for call in session.tool_history}
        others = [pair for pair in stored.in_head if pair[1].id not in own_ids]
        placed = [pair for pair in placed if pair[1].id not in stored.in_lines]
        trailing = sorted([*others, *placed], key=lambda pair: pair[0])
    if trailing:
        data[INVOCATIONS] = [
            {"position": position, "invocation": item.to_dict()} for position, item in trailing
        ]
    messages = session.messages if stored is None else stored.messages
    if format.always_counts or (messages and messages[-1].timestamp > session.updated_at):
        data[format.count_key] = len(messages)
    return data


def encode_records(session: Session, format: Format) -> list[bytes]:
    """Return a line of JSON for each message, with the tool calls just before the message."""
    calls_before: dict[int, list[ToolInvocation]] = {}
    for position, invocation in place_invocations(session):
        calls_before.setdefault(position, []).append(invocation)
    return [
        encode_record(message, format.records, calls_before.get(position, ()))
        for position, message in enumerate(session.messages)
    ]


def place_invocations(session: Session) -> list[tuple[int, ToolInvocation]]:
    """Return the tool calls of a session, each with the number of messages before the call.

    The tool calls stay in the order in which they were recorded.
    """
    placed: list[tuple[int, ToolInvocation]] = []
    position, messages = 0, session.messages
    for invocation in session.tool_history:
        while position < len(messages) and messages[position].timestamp < invocation.timestamp:
            position += 1
        placed.append((position, invocation))
    return placed


def join(head: dict[str, Any], lines: RecordBlock, format: Format) -> Session:
    """Create a session from the dict of its head and from its decoded lines.

    The head has all fields except the messages. Raises ValueError, with the reason, if the head is
    invalid.
    """
    ids_in_lines = {call.id for _, call in lines.invocations}
    trailing = [pair for pair in calls_in_head(head) if pair[1].id not in ids_in_lines]
    head = {name: value for name, value in head.items() if name != INVOCATIONS}
    counted = head.pop(format.count_key, 0)
    session = message_dicts.convert(decode_head(head, format.head), Session)
    session.messages = lines.messages
    # Tool calls in the head are older than messages that were appended to the file later.
    placed = sorted([*trailing, *lines.invocations], key=lambda pair: pair[0])
    session.tool_history = [invocation for _, invocation in placed]
    later = (
        lines.messages[counted:] if isinstance(counted, int) and counted >= 0 else lines.messages
    )
    if later and later[-1].timestamp > session.updated_at:
        session.updated_at = later[-1].timestamp
    return session


def calls_in_head(head: dict[str, Any]) -> list[tuple[int, ToolInvocation]]:
    """Return the tool calls in the head of a stored session.

    Each call comes with the number of messages before the call. The head contains the calls that
    are not stored in a line together with a message, such as calls after the last message.
    """
    return [_parse_call(item) for item in message_dicts.dicts(head.get(INVOCATIONS), INVOCATIONS)]


def _parse_call(item: dict[str, Any]) -> tuple[int, ToolInvocation]:
    position = item.get("position", 0)
    if not isinstance(position, int):
        raise ValueError("a recorded tool call has no position")
    return position, invocation_from_dict(message_dicts.as_dict(item.get("invocation")))
