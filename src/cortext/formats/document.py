"""The document: head and records in one JSON object, one record a line."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

import msgspec

from cortext.formats.records import Damage
from cortext.model import json, wire
from cortext.model.head import HEAD, decode_head, encode_head
from cortext.model.message import SessionMessage, ToolInvocation, minted
from cortext.model.session import Session


class Block(NamedTuple):
    """Records with the bytes that they have in a file, so that nobody encodes them again."""

    items: tuple[Any, ...] = ()
    data: bytes = b""

    def extended(self, items: Sequence[SessionMessage] | Sequence[ToolInvocation]) -> Block:
        """The block of `items`, encoding only what comes after those that are in this one."""
        known = len(self.items)
        same = len(items) >= known and all(map(is_, items, self.items))
        parts = [self.data] if same and self.data else []
        parts += [_encode_item(item) for item in (items[known:] if same else items)]
        return Block(tuple(items), b",\n".join(parts))


class Decoded(NamedTuple):
    """A document, with the blocks that it was made of."""

    session: Session
    messages: Block
    history: Block
    version: Any
    notes: list[str]


def encode(session: Session, messages: Block, history: Block) -> list[bytes]:
    """The file in chunks, from blocks that hold all the session's records."""
    head = json.encode(encode_head(session, HEAD))
    return [
        head[:-1], b',"messages":[\n', messages.data, b'\n],"tool_history":[\n', history.data,
        b"\n]}\n",
    ]  # fmt: skip


def decode(data: bytes) -> Decoded:
    """The session of a file; ValueError says why it is none."""
    try:
        parts = _parts.decode(data)
        head = {name: _any.decode(raw) for name, raw in parts.items() if name not in _RECORDS}
        before = minted.count
        messages = _typed_messages.decode(parts.get("messages", _NOTHING))
        history = _typed_history.decode(parts.get("tool_history", _NOTHING))
        if minted.count != before:
            raise msgspec.DecodeError("a record without an id")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(data)
    session = wire.convert(decode_head(head, HEAD), Session)
    session.messages, session.tool_history = messages, history
    return Decoded(
        session,
        Block(tuple(messages), _inside(parts.get("messages"))),
        Block(tuple(history), _inside(parts.get("tool_history"))),
        head.get("version"),
        [],
    )


def decode_version(data: bytes) -> dict[str, Any]:
    """Only what tells the version of a file."""
    try:
        return {"version": _version.decode(data).version}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def salvage(data: bytes, id: str) -> tuple[Session, list[Damage]]:
    """What can be read of a damaged file, line by line: records stand one to a line."""
    damages: list[Damage] = []
    messages: list[SessionMessage] = []
    history: list[ToolInvocation] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        bare = line.strip(b" \t\r\0,")
        if not bare.startswith(b"{") or not bare.endswith(b"}"):
            continue
        try:
            item = wire.as_dict(json.decode(bare))
            if "tool_name" in item:
                history.append(wire.invocation_from_dict(item))
            elif "role" in item:
                messages.append(wire.message_from_dict(item))
        except ValueError as error:
            damages.append(Damage(str(error), number))
    return _salvaged(data, id, messages, history), damages


class _Version(msgspec.Struct):
    version: Any = None


_RECORDS = frozenset(("messages", "tool_history"))
_NOTHING = msgspec.Raw(b"[]")
_any = msgspec.json.Decoder()
_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_version = msgspec.json.Decoder(_Version)
_typed_messages = msgspec.json.Decoder(list[SessionMessage])
_typed_history = msgspec.json.Decoder(list[ToolInvocation])


def _encode_item(item: SessionMessage | ToolInvocation) -> bytes:
    if isinstance(item, SessionMessage) and not item.extra:
        return json.encode(item)
    return json.encode(item.to_dict())


def _decode_slowly(data: bytes) -> Decoded:
    notes: list[str] = []
    found = wire.as_dict(json.decode(data, notes))
    session = Session.from_dict(found)
    messages = Block().extended(session.messages)
    return Decoded(
        session, messages, Block().extended(session.tool_history), found.get("version"), notes
    )


def _inside(raw: msgspec.Raw | None) -> bytes:
    """What stands between the brackets of a list."""
    return b"" if raw is None else bytes(raw).strip()[1:-1].strip()


def _salvaged(
    data: bytes, id: str, messages: list[SessionMessage], history: list[ToolInvocation]
) -> Session:
    """A session from its readable records, with the head if its line can be closed."""
    head: dict[str, Any] = {}
    cut = data.find(b',"messages":[')
    if cut > 0:
        try:
            head = wire.as_dict(json.decode(data[:cut] + b"}"))
        except ValueError:
            head = {}
    if "created_at" not in head and messages:
        head["created_at"] = wire.iso(messages[0].timestamp)
        head["updated_at"] = wire.iso(messages[-1].timestamp)
    session = Session.from_dict({"created_at": "1970-01-01T00:00:00Z", **head})
    session.id, session.messages, session.tool_history = id, messages, history
    return session
