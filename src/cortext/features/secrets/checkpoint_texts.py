"""Read the texts in the checkpoints of a LangGraph thread, to scan them for secrets.

LangGraph packs values that are not plain JSON as MessagePack in base64, and names each packed value
by its content. LangGraph could not find a changed value under its name. This module therefore only
reads the values.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from cortext.durability.read_files import read_file
from cortext.features.secrets.redact_value import may_hold_secret
from cortext.model import json_codec

_PACKED = frozenset(("msgpack", "json", "bytes", "bytearray", "pickle"))
_ENCRYPTED = b'["msgpack+'
_AS_IS = "surrogateescape"


def checkpoint_values(path: str, unread: list[str]) -> Iterator[Any]:
    """Yield the unpacked lines of a checkpoint file that may contain a secret.

    If values are encrypted, add the path and this reason to `unread`. Raises OSError.
    """
    hidden = False
    for line in read_file(path).split(b"\n"):
        try:
            value = _opened(json_codec.decode(line)) if line else None
        except (ValueError, RecursionError):
            value = line.decode("utf-8", _AS_IS)
        hidden = hidden or _ENCRYPTED in line
        if value is not None and may_hold_secret(_flat(value)):
            yield value
    if hidden:
        unread.append(f"{path}: its values are encrypted")


def _flat(value: Any) -> bytes:
    return value.encode("utf-8", _AS_IS) if isinstance(value, str) else json_codec.encode(value)


def _opened(value: Any) -> Any:
    """Return a JSON value with every packed value in it unpacked."""
    if isinstance(value, dict):
        return {str(k): _opened(one) for k, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        if len(items) == 2 and all(isinstance(one, str) for one in items) and items[0] in _PACKED:
            return _unpacked(items[1])
        return [_opened(one) for one in items]
    if isinstance(value, bytes):
        return _from_bytes(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def _unpacked(text: str) -> Any:
    try:
        return _from_bytes(b64decode(text, validate=True))
    except ValueError:
        return text


def _from_bytes(data: bytes) -> Any:
    try:
        return _opened(msgspec.msgpack.decode(data, ext_hook=_extension))
    except (msgspec.MsgspecError, ValueError, TypeError):
        return data.decode("utf-8", _AS_IS)


def _extension(_code: int, data: memoryview) -> Any:
    """Return the bytes of a packed Python object. They contain its class name and arguments."""
    return bytes(data)
