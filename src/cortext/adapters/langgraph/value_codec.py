"""The stored form of channel values in the log of a LangGraph thread.

A *node* is the stored form of one value: a piece, a list of pieces, or a dict of nodes. A *piece*
is plain JSON, or the bytes of LangGraph's serializer. To save space, the log contains each piece
only once. When the same piece occurs again, only its name is stored. For a list that changed, the
log stores the number of pieces at its beginning that are unchanged, and the new pieces after them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Container, Mapping, Sequence
from copy import deepcopy
from hashlib import blake2b
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, cast

from cortext.adapters.langgraph.allowlist_serializer import CheckpointSerializer
from cortext.adapters.missing_framework import needs
from cortext.model import json_codec

with needs("langgraph"):
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol

_JSON = "json of ours"
_MIN_NAMED = 40
"""The minimum size in bytes of a piece with a name. A smaller piece is stored each time."""
_MIN_SPLIT = 512
"""The minimum size in bytes of a plain JSON dict that is stored key by key."""
_ATOMS = frozenset((str, int, bool, float, type(None)))


class StoredValue:
    """A piece: one stored value, as plain JSON or as bytes of the serializer.

    `kind` is the encoding of `data`. `name` is a hash, so equal pieces have equal names. Short
    pieces have the name "". If the value is a message, `twin` may hold a copy of the message, so
    that `data` need not be unpacked. Otherwise `twin` is None.
    """

    __slots__ = ("data", "kind", "name", "twin")

    def __init__(self, kind: str, data: Any, twin: BaseMessage | None = None) -> None:
        self.kind: str = kind
        self.data: Any = data
        self.twin: BaseMessage | None = twin
        raw = self.raw()
        self.name: str = _name(kind, raw) if len(raw) >= _MIN_NAMED else ""

    def raw(self) -> bytes:
        return json_codec.encode(self.data) if self.kind == _JSON else self.data

    def equals(self, other: StoredValue) -> bool:
        if self.name or other.name:
            return self.name == other.name
        return self.kind == other.kind and self.raw() == other.raw()


class Items(NamedTuple):
    """The stored form of a list: the first `size` items of `pieces`.

    A list and a longer, later version of it share one `pieces` object.
    """

    pieces: list[StoredValue]
    size: int

    def all(self) -> list[StoredValue]:
        return self.pieces[: self.size]


class Keys(NamedTuple):
    """The stored form of a dict with string keys: one node for each key."""

    values: Mapping[str, Node]


Node = StoredValue | Items | Keys


class Broken(ValueError):
    """The error for a stored value that refers to a piece or list that is missing in the log."""


class Codec:
    """A converter from values to nodes (their stored form) and back.

    `serde` is the serializer for the values. `open` is True if `serde` is the default serializer.
    With any other serializer, each value is stored as one piece of opaque bytes. Such values share
    no pieces, and no message is stored as plain text.
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        self.open: bool = isinstance(serde, CheckpointSerializer)

    def node(self, value: Any, before: Node | None = None, levels: int = 2) -> Node:
        """Convert a value of a channel to a node (its stored form).

        `before` is the node of the previous value of the channel. The new node shares equal parts
        with `before`. Large dicts are split by key, down to `levels` levels of nesting.
        """
        if not self.open:
            return self.piece(value)
        if type(value) is list:
            return self._items(cast("list[Any]", value), before)
        if type(value) is dict and levels:
            items = cast("dict[Any, Any]", value)
            is_small = _is_plain(items) and len(json_codec.encode(items)) < _MIN_SPLIT
            if items and not is_small and all(type(key) is str for key in items):
                old = _values(before)
                return Keys({k: self.node(v, old.get(k), levels - 1) for k, v in items.items()})
        return self.piece(value)

    def piece(self, value: Any) -> StoredValue:
        if self.open and _is_plain(value):
            return StoredValue(_JSON, value)
        # Pack a copy, because another thread of the caller may change the message meanwhile.
        twin = _copy_message(value) if self.open and isinstance(value, BaseMessage) else None
        kind, data = self.serde.dumps_typed(value if twin is None else twin)
        return StoredValue(kind, bytes(data), twin)

    def value(self, node: Node) -> Any:
        """Return the value of a node. It is a new object, which the caller may change."""
        if isinstance(node, Items):
            return [self.value(piece) for piece in node.all()]
        if isinstance(node, Keys):
            return {key: self.value(one) for key, one in node.values.items()}
        if node.twin is not None:
            return _copy_message(node.twin)
        if node.kind == _JSON:
            return _deep_copy(node.data)
        value = self.serde.loads_typed((node.kind, node.data))
        if self.open and isinstance(value, BaseMessage):
            node.twin = _copy_message(value)
        return value

    def peek(self, node: Node) -> Any:
        """Return the value of a node without copying plain JSON.

        The caller must not change the value.
        """
        if isinstance(node, StoredValue) and node.kind == _JSON:
            return node.data
        return self.value(node)

    def message(self, piece: StoredValue) -> Any:
        """Return the value of a piece, without copying it if it is a cached message.

        The caller must not change the value.
        """
        return piece.twin if piece.twin is not None else self.value(piece)

    def _items(self, values: list[Any], before: Node | None) -> Items:
        old = before.all() if isinstance(before, Items) else []
        for at, (value, known) in enumerate(zip(values, old, strict=False)):
            if _is_same(value, known):
                continue
            made = self.piece(value)
            if not made.equals(known):
                return Items([*old[:at], made, *map(self.piece, values[at + 1 :])], len(values))
            known.twin = known.twin or made.twin
        keep = min(len(values), len(old))
        return Items([*old[:keep], *map(self.piece, values[keep:])], len(values))


def written(node: Node, before: Node | None, known: Container[str]) -> Any:
    """Convert a node (the stored form of a value) to JSON for the log.

    `before` is the node of the previous value of the channel, which the log already contains.
    `known` holds the names of the pieces that the log already contains.
    """
    if isinstance(node, StoredValue):
        if node.name and node.name in known:
            return node.name
        return {"is": node.data} if node.kind == _JSON else [node.kind, _text(node.data)]
    if isinstance(node, Keys):
        old = _values(before)
        return {"map": {key: written(one, old.get(key), known) for key, one in node.values.items()}}
    keep = common(node, before)
    new = [written(piece, None, known) for piece in islice(node.pieces, keep, node.size)]
    return {"keep": keep, "new": new} if keep else {"new": new}


def read(data: Any, before: Node | None, pieces: dict[str, StoredValue]) -> Node:
    """Convert `data`, the JSON that `written` returned, to a node.

    `before` is the node of the previous value of the channel. `pieces` holds the named pieces of
    the log, and new pieces are added to `pieces`. Raises Broken if a referenced piece or list is
    missing, and ValueError if `data` is other JSON.
    """
    if isinstance(data, dict):
        stored = cast("dict[str, Any]", data)
        if "new" in stored:
            return _read_items(stored, before, pieces)
        if "map" in stored:
            old = _values(before)
            parts = cast("dict[str, Any]", stored["map"])
            return Keys({key: read(one, old.get(key), pieces) for key, one in parts.items()})
    return _read_piece(data, pieces)


def common(node: Node, before: Node | None) -> int:
    """Return how many pieces two lists share at their beginning.

    A piece is shared if it is the same object in both lists. Return 0 if `node` or `before` is not
    a list.
    """
    if not isinstance(node, Items) or not isinstance(before, Items):
        return 0
    most = min(node.size, before.size)
    if node.pieces is before.pieces:
        return most
    pairs = zip(islice(node.pieces, most), before.pieces, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one is not other), most)


def names_in(node: Node) -> list[StoredValue]:
    """Return the pieces of a node that have a name. The log stores such a piece only once."""
    if isinstance(node, Items):
        return [piece for piece in node.all() if piece.name]
    if isinstance(node, Keys):
        return [piece for one in node.values.values() for piece in names_in(one)]
    return [node] if node.name else []


def _values(node: Node | None) -> Mapping[str, Node]:
    """Return the values of a dict node by key, or an empty mapping for any other node."""
    return node.values if isinstance(node, Keys) else {}


def _read_items(
    data: Mapping[str, Any], before: Node | None, pieces: dict[str, StoredValue]
) -> Items:
    old = before if isinstance(before, Items) else Items([], 0)
    keep = data.get("keep", 0)
    if type(keep) is not int or keep > old.size:
        raise Broken("the list that it continues is missing")
    return _extend(old, keep, [_read_piece(one, pieces) for one in data["new"]])


def _read_piece(data: Any, pieces: dict[str, StoredValue]) -> StoredValue:
    if isinstance(data, str):
        if data not in pieces:
            raise Broken("a part of it is missing")
        return pieces[data]
    if isinstance(data, dict):
        piece = StoredValue(_JSON, cast("dict[str, Any]", data)["is"])
    else:
        kind, text = cast("Sequence[str]", data)
        piece = StoredValue(kind, b64decode(text))
    return pieces.setdefault(piece.name, piece) if piece.name else piece


def _extend(old: Items, keep: int, new: list[StoredValue]) -> Items:
    """Return a list of the first `keep` pieces of `old`, followed by the pieces `new`.

    If `keep` is the whole length of `old`, both lists share one `pieces` object.
    """
    if keep == old.size == len(old.pieces):
        old.pieces.extend(new)
        return Items(old.pieces, len(old.pieces))
    return Items(old.pieces[:keep] + new, keep + len(new))


def _is_same(value: Any, piece: StoredValue) -> bool:
    """Return True if a value certainly equals the value of a piece (a stored value).

    False means that the values differ, or that the test cannot decide. The test is fast, because it
    does not pack the value.
    """
    twin = piece.twin
    if twin is not None:
        try:
            return (
                type(value) is type(twin)
                and value.__dict__ == twin.__dict__
                and value.__pydantic_extra__ == twin.__pydantic_extra__
            )
        except (ValueError, RecursionError):
            return False
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    return (
        piece.kind == _JSON
        and kind in _ATOMS
        and kind is type(piece.data)
        and (value == piece.data)
    )


def _copy_message(message: BaseMessage) -> BaseMessage | None:
    """Return a deep copy of a message, or None if it cannot be copied."""
    try:
        if message.__pydantic_extra__ or message.__pydantic_private__:
            return deepcopy(message)
        # This is three times as fast as pydantic's own copy. Long histories are copied often.
        twin = object.__new__(type(message))
        parts = {key: _deep_copy(value) for key, value in message.__dict__.items()}
        object.__setattr__(twin, "__dict__", parts)
        object.__setattr__(twin, "__pydantic_fields_set__", set(message.__pydantic_fields_set__))
        object.__setattr__(twin, "__pydantic_extra__", _deep_copy(message.__pydantic_extra__))
        object.__setattr__(twin, "__pydantic_private__", None)
    except (TypeError, RecursionError):
        return None
    return twin


def _deep_copy(value: Any) -> Any:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: _deep_copy(one) for key, one in value.items()} if value else {}
    if kind is list:
        return [_deep_copy(one) for one in value] if value else []
    return deepcopy(value)


def _is_plain(value: Any, deepest: int = 50) -> bool:
    """Return whether JSON can represent a value exactly.

    Returns False for a value with more than `deepest` levels of nesting.
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if not deepest:
        return False
    if kind is int:
        return -(1 << 63) <= value < 1 << 64
    if kind in _ATOMS:
        return kind is not float or isfinite(value)
    if kind is list:
        return all(_is_plain(one, deepest - 1) for one in value)
    if kind is dict:
        return all(type(key) is str and _is_plain(one, deepest - 1) for key, one in value.items())
    return False


def _name(kind: str, raw: bytes) -> str:
    digest = blake2b(raw, digest_size=15, person=kind.encode()[:16])
    return urlsafe_b64encode(digest.digest()).decode("ascii")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
