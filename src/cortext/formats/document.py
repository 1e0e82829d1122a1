"""The document format: a whole session in one JSON object, with one message on each line.

The head, which is everything but messages and tool calls, is on the first line.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import is_
from typing import Any, NamedTuple

import msgspec

from cortext.formats.record_lines import Damage, encode_plain, may_hide_type
from cortext.model import json_codec, record_dicts
from cortext.model.message import (
    SessionMessage,
    ToolInvocation,
    all_complete,
    invocation_from_dict,
    message_from_dict,
)
from cortext.model.session import Session
from cortext.model.session_head import HEAD, decode_head, encode_head


class EncodedRecords(NamedTuple):
    """Messages or tool calls with their encoded bytes, so that a save encodes only new ones."""

    items: tuple[Any, ...] = ()
    data: bytes | memoryview = b""

    def extended(self, items: Sequence[SessionMessage | ToolInvocation]) -> EncodedRecords:
        """Return `items` with their encoded bytes, and encode only the items that are new.

        If `items` does not start with the items of this object, all of them are encoded again.
        """
        # Copy the list, because another thread may append to it.
        items = tuple(items)
        known = len(self.items)
        same = len(items) >= known and all(map(is_, items, self.items))
        parts = [self.data] if same and self.data else []
        parts += [_encode_item(item) for item in (items[known:] if same else items)]
        return EncodedRecords(items, b",\n".join(parts))


class DecodedDocument(NamedTuple):
    """A session that was read from a document file.

    `messages` and `history` hold the messages and tool calls with their bytes in the file.
    `version` is the version that the file states. `notes` describes unusual things in the file.
    """

    session: Session
    messages: EncodedRecords
    history: EncodedRecords
    version: Any
    notes: list[str]


def encode(
    session: Session, messages: EncodedRecords, history: EncodedRecords
) -> list[bytes | memoryview]:
    """Return the content of a document file, in chunks.

    `messages` and `history` must contain all messages and tool calls of the session.
    """
    head = json_codec.encode(encode_head(session, HEAD))
    return [
        head[:-1], _MESSAGES, messages.data, _HISTORY, history.data, _END,
    ]  # fmt: skip


def decode(data: bytes) -> DecodedDocument:
    """Parse the content of a document file; ValueError says what is wrong with the file."""
    cuts = _cuts(data)
    if cuts is None or may_hide_type(data, cuts[0]):
        return _decode_slowly(data)
    view = memoryview(data)
    messages_at, history_at = cuts
    try:
        head = record_dicts.as_dict(_any.decode(data[:messages_at] + b"}"))
        # The slices include the brackets, which are part of the marks.
        messages = _messages.decode(view[messages_at + len(_MESSAGES) - 2 : history_at + 2])
        history = _history.decode(view[history_at + len(_HISTORY) - 2 : 2 - len(_END)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(data)
    if not (all_complete(messages) and all_complete(history)):
        return _decode_slowly(data)
    session = record_dicts.convert(decode_head(head, HEAD), Session)
    session.messages, session.tool_history = messages, history
    return DecodedDocument(
        session,
        EncodedRecords(tuple(messages), view[messages_at + len(_MESSAGES) : history_at]),
        EncodedRecords(tuple(history), view[history_at + len(_HISTORY) : -len(_END)]),
        head.get("version"),
        [],
    )


def decode_version(data: bytes) -> dict[str, Any]:
    """Return `{"version": …}` from the content of a document file, or {} if it is not JSON."""
    try:
        return {"version": _version.decode(data).version}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def salvage(data: bytes, id: str) -> tuple[Session, list[Damage]]:
    """Return a session with everything that is readable in a damaged document file.

    Also return the damages: one for each line with an unreadable message or tool call. `id` becomes
    the id of the session.
    """
    damages: list[Damage] = []
    messages: list[SessionMessage] = []
    history: list[ToolInvocation] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        bare = line.strip(b" \t\r\0,")
        if not bare.startswith(b"{") or not bare.endswith(b"}"):
            continue
        try:
            item = record_dicts.as_dict(json_codec.decode(bare))
            if "tool_name" in item:
                history.append(invocation_from_dict(item))
            elif "role" in item:
                messages.append(message_from_dict(item))
        except ValueError as error:
            damages.append(Damage(str(error), number))
    return _salvaged(data, id, messages, history), damages


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Version(msgspec.Struct):
    version: Any = None


# JSON has raw newlines only between values, so these marks occur nowhere else.
_MESSAGES = b',"messages":[\n'
_HISTORY = b'\n],"tool_history":[\n'
_END = b"\n]}\n"
_any = msgspec.json.Decoder()
_version = msgspec.json.Decoder(_Version)
_messages = msgspec.json.Decoder(list[SessionMessage])
_history = msgspec.json.Decoder(list[ToolInvocation])


def _cuts(data: bytes) -> tuple[int, int] | None:
    """Return the offsets of the messages and of the tool calls in a document file.

    None if the file does not have the layout that `encode` writes.
    """
    messages, history = data.find(_MESSAGES), data.rfind(_HISTORY)
    if messages > 0 and messages + len(_MESSAGES) - 1 <= history and data.endswith(_END):
        return messages, history
    return None


def _encode_item(item: SessionMessage | ToolInvocation) -> bytes:
    if isinstance(item, SessionMessage) and not item.extra:
        return encode_plain(item)
    return json_codec.encode(item.to_dict())


def _decode_slowly(data: bytes) -> DecodedDocument:
    notes: list[str] = []
    found = record_dicts.as_dict(json_codec.decode(data, notes))
    session = Session.from_decoded(found)
    messages = EncodedRecords().extended(session.messages)
    return DecodedDocument(
        session,
        messages,
        EncodedRecords().extended(session.tool_history),
        found.get("version"),
        notes,
    )


def _salvaged(
    data: bytes, id: str, messages: list[SessionMessage], history: list[ToolInvocation]
) -> Session:
    """Return a session with the given messages and tool calls, and the head if it is readable."""
    head: dict[str, Any] = {}
    cut = data.find(b',"messages":[')
    if cut > 0:
        try:
            head = record_dicts.as_dict(json_codec.decode(data[:cut] + b"}"))
        except ValueError:
            head = {}
    try:
        session = Session.from_decoded(head)
    except ValueError:
        session = Session(created_at=messages[0].timestamp if messages else _EPOCH)
        session.updated_at = messages[-1].timestamp if messages else session.created_at
    session.id, session.messages, session.tool_history = id, messages, history
    return session
