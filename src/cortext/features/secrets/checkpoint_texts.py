"""Read the texts in the checkpoints of a LangGraph thread, to scan them for secrets.

LangGraph stores values that are not plain JSON as MessagePack in base64. The name of such a packed
value is computed from its content. If the content were redacted, LangGraph could not find the value
any more. Therefore this module only reads checkpoints.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from cortext.durability.read_files import read_file
from cortext.features.secrets.redactor import may_hold_secret
from cortext.model import json_codec

_PACKED = frozenset(("msgpack", "json", "bytes", "bytearray", "pickle"))
_ENCRYPTED = b'["msgpack+'
_ERRORS = "surrogateescape"


def checkpoint_values(path: str, unread: list[str]) -> Iterator[Any]:
    """Read a checkpoint file, and yield each decoded line that may contain a secret.

    Packed values in the lines are unpacked. If the file has encrypted values, add its path and this
    reason to `unread`. Raises OSError if the file cannot be read.
    """
    is_encrypted = False
    for line in read_file(path).split(b"\n"):
        try:
            value = _unpack_value(json_codec.decode(line)) if line else None
        except (ValueError, RecursionError):
            value = line.decode("utf-8", _ERRORS)
        is_encrypted = is_encrypted or _ENCRYPTED in line
        if value is not None and may_hold_secret(_to_bytes(value)):
            yield value
    if is_encrypted:
        unread.append(f"{path}: the values are encrypted")


def _to_bytes(value: Any) -> bytes:
    return value.encode("utf-8", _ERRORS) if isinstance(value, str) else json_codec.encode(value)


def _unpack_value(value: Any) -> Any:
    """Return a JSON value with every packed value in it unpacked."""
    if isinstance(value, dict):
        return {str(k): _unpack_value(one) for k, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        if len(items) == 2 and all(isinstance(one, str) for one in items) and items[0] in _PACKED:
            return _unpack_text(items[1])
        return [_unpack_value(one) for one in items]
    if isinstance(value, bytes):
        return _unpack_bytes(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def _unpack_text(text: str) -> Any:
    try:
        return _unpack_bytes(b64decode(text, validate=True))
    except ValueError:
        return text


def _unpack_bytes(data: bytes) -> Any:
    try:
        return _unpack_value(msgspec.msgpack.decode(data, ext_hook=_extension))
    except (msgspec.MsgspecError, ValueError, TypeError):
        return data.decode("utf-8", _ERRORS)


def _extension(_code: int, data: memoryview) -> Any:
    """Return the bytes of a packed Python object, which contain its class name and arguments."""
    return bytes(data)
