"""Encode and decode the JSON of messages and metadata in Redis and PostgreSQL."""

from __future__ import annotations

from typing import Any

import msgspec

from cortext.model import json_codec
from cortext.model import message_dicts as model_wire
from cortext.service.stores.port import Message

_message_decoder = msgspec.json.Decoder(Message)


def encode_message(message: Message) -> bytes:
    return json_codec.encode(message)


def decode_message(data: bytes) -> Message:
    """Decode the JSON that `encode_message` returned. ValueError is raised for invalid data."""
    try:
        return _message_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Lone surrogates are written as escapes, which the fast decoder refuses.
        return model_wire.convert(model_wire.as_dict(json_codec.decode(data)), Message)


def decode_object(data: bytes) -> dict[str, Any]:
    return model_wire.as_dict(json_codec.decode(data)) if data else {}
