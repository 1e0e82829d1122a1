"""The document format: a whole session in one JSON object, with one message on each line.

The first line has the head: all fields except messages and tool calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import is_
from typing import Any

import msgspec

from cortext.formats.message_lines import Damage, encode_plain, may_hide_type
from cortext.model import json_codec, message_dicts
from cortext.model.message import (
    SessionMessage,
    ToolInvocation,
    all_complete,
    invocation_from_dict,
    message_from_dict,
)
from cortext.model.session import Session
from cortext.model.session_head_codec import HEAD, decode_head, encode_head


class EncodedRecords(msgspec.Struct, frozen=True):
    """Messages or tool calls (`items`), and the bytes (`data`) that encode them in a document file.

    A store keeps this object, so that the next save encodes only new items.
    """

    items: tuple[Any, ...] = ()
    data: bytes | memoryview = b""

    def extended(self, items: Sequence[SessionMessage | ToolInvocation]) -> EncodedRecords:
        """Return a new object with `items` and their encoded bytes.

        If `items` begins with the items of this object, only the items after them are encoded.
        Otherwise all items are encoded.
        """
        # Copy the list, because another thread may append to it.
        items = tuple(items)
        known = len(self.items)
        same = len(items) >= known and all(map(is_, items, self.items))
        parts = [self.data] if same and self.data else []
        parts += [_encode_item(item) for item in (items[known:] if same else items)]
        return EncodedRecords(items, b",\n".join(parts))


class DecodedDocument(msgspec.Struct, frozen=True):
    """A session that was read from a document file.

    `messages` and `history` hold the messages and tool calls, with the bytes that encode them in
    the file. `version` is the format version in the file. `notes` has a sentence for each unusual
    thing in the file, such as a byte order mark.
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

    `messages` must contain all messages of the session, and `history` all tool calls.
    """
    head = json_codec.encode(encode_head(session, HEAD))
    return [
        head[:-1], _MESSAGES, messages.data, _HISTORY, history.data, _END,
    ]  # fmt: skip


def decode(data: bytes) -> DecodedDocument:
    """Parse the content of a document file.

    Raises ValueError, with the reason, if the file is invalid.
    """
    offsets = _find_sections(data)
    if offsets is None or may_hide_type(data, offsets[0]):
        return _decode_slowly(data)
    view = memoryview(data)
    messages_at, history_at = offsets
    try:
        head = message_dicts.as_dict(_any.decode(data[:messages_at] + b"}"))
        # The brackets of a list are part of the separators, and the decoder needs them.
        messages = _messages.decode(view[messages_at + len(_MESSAGES) - 2 : history_at + 2])
        history = _history.decode(view[history_at + len(_HISTORY) - 2 : 2 - len(_END)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(data)
    if not (all_complete(messages) and all_complete(history)):
        return _decode_slowly(data)
    session = message_dicts.convert(decode_head(head, HEAD), Session)
    session.messages, session.tool_history = messages, history
    return DecodedDocument(
        session,
        EncodedRecords(tuple(messages), view[messages_at + len(_MESSAGES) : history_at]),
        EncodedRecords(tuple(history), view[history_at + len(_HISTORY) : -len(_END)]),
        head.get("version"),
        [],
    )


def decode_version(data: bytes) -> dict[str, Any]:
    """Return the format version of a document file, as `{"version": …}`.

    The value is None if the file has no version. The result is {} if the file is not JSON.
    """
    try:
        return {"version": _version.decode(data).version}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def salvage(data: bytes, id: str) -> tuple[Session, list[Damage]]:
    """Return a session with everything that is readable in a damaged document file.

    `data` is the content of the file, and `id` becomes the id of the session. The second result has
    a `Damage` for each line that is a complete JSON object in braces but cannot be decoded.
    """
    damages: list[Damage] = []
    messages: list[SessionMessage] = []
    history: list[ToolInvocation] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        bare = line.strip(b" \t\r\0,")
        if not bare.startswith(b"{") or not bare.endswith(b"}"):
            continue
        try:
            item = message_dicts.as_dict(json_codec.decode(bare))
            if "tool_name" in item:
                history.append(invocation_from_dict(item))
            elif "role" in item:
                messages.append(message_from_dict(item))
        except ValueError as error:
            damages.append(Damage(str(error), number))
    return _build_salvaged(data, id, messages, history), damages


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Version(msgspec.Struct):
    version: Any = None


# JSON has raw newlines only between values, so these separators occur nowhere else.
_MESSAGES = b',"messages":[\n'
_HISTORY = b'\n],"tool_history":[\n'
_END = b"\n]}\n"
_any = msgspec.json.Decoder()
_version = msgspec.json.Decoder(_Version)
_messages = msgspec.json.Decoder(list[SessionMessage])
_history = msgspec.json.Decoder(list[ToolInvocation])


def _find_sections(data: bytes) -> tuple[int, int] | None:
    """Return the positions at which the messages and the tool calls start in a document file.

    Both positions are offsets in bytes. The result is None if the file does not have the layout
    that `encode` writes.
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
    value = message_dicts.as_dict(json_codec.decode(data, notes))
    session = Session.from_decoded(value)
    messages = EncodedRecords().extended(session.messages)
    return DecodedDocument(
        session,
        messages,
        EncodedRecords().extended(session.tool_history),
        value.get("version"),
        notes,
    )


def _build_salvaged(
    data: bytes, id: str, messages: list[SessionMessage], history: list[ToolInvocation]
) -> Session:
    """Return a session with the given id, messages and tool calls.

    The title, the status and the other fields come from `data`, the content of a damaged file, if
    they are readable.
    """
    head: dict[str, Any] = {}
    cut = data.find(b',"messages":[')
    if cut > 0:
        try:
            head = message_dicts.as_dict(json_codec.decode(data[:cut] + b"}"))
        except ValueError:
            head = {}
    try:
        session = Session.from_decoded(head)
    except ValueError:
        session = Session(created_at=messages[0].timestamp if messages else _EPOCH)
        session.updated_at = messages[-1].timestamp if messages else session.created_at
    session.id, session.messages, session.tool_history = id, messages, history
    return session
