"""How values of LangGraph stand in the log of a thread.

A *piece* is one value as the saver's serializer gives it; one that is plain JSON stands there as it
is. A list is its pieces: those at its beginning that the list before it had as well are only
counted, and one that is anywhere in the log already is only named. So a list that grows is stored
once, and a checkpoint costs what is new in it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Container, Mapping, Sequence
from copy import deepcopy
from hashlib import blake2b
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, cast

from cortext.adapters.langgraph.serializer import CheckpointSerializer
from cortext.adapters.missing_framework import needs
from cortext.model import json_codec

with needs("langgraph"):
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol

_JSON = "json of ours"
_WORTH_A_NAME = 40
"""Bytes below which a piece is no longer than its name."""
_LARGE = 512
"""Bytes of plain JSON above which a dict is stored key by key."""
_ATOMS = frozenset((str, int, bool, float, type(None)))


class StoredValue:
    """One stored value. Equal pieces have equal names, and short ones have none; `twin` is the
    message that it stands for, if that is known, and nobody else's."""

    __slots__ = ("data", "kind", "name", "twin")

    def __init__(self, kind: str, data: Any, twin: BaseMessage | None = None) -> None:
        self.kind: str = kind
        self.data: Any = data
        self.twin: BaseMessage | None = twin
        raw = self.raw()
        self.name: str = _name(kind, raw) if len(raw) >= _WORTH_A_NAME else ""

    def raw(self) -> bytes:
        return json_codec.encode(self.data) if self.kind == _JSON else self.data

    def equals(self, other: StoredValue) -> bool:
        if self.name or other.name:
            return self.name == other.name
        return self.kind == other.kind and self.raw() == other.raw()


class Items(NamedTuple):
    """A list: the first `size` of the pieces. Lists that grew out of each other share them."""

    pieces: list[StoredValue]
    size: int

    def all(self) -> list[StoredValue]:
        return self.pieces[: self.size]


class Keys(NamedTuple):
    """A dict with text for keys."""

    values: Mapping[str, Node]


Node = StoredValue | Items | Keys


class Broken(ValueError):
    """What a value shares with others is not in the log."""


class Codec:
    """Values to nodes and back, by a serializer. Only pieces of the default one can be compared,
    so with another nothing is shared, and nothing is left readable."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        self.open: bool = isinstance(serde, CheckpointSerializer)

    def node(self, value: Any, before: Node | None = None, levels: int = 2) -> Node:
        """A value; what it has in common with the one before is taken from there. Dicts are looked
        into so many levels deep."""
        if not self.open:
            return self.piece(value)
        if type(value) is list:
            return self._items(cast("list[Any]", value), before)
        if type(value) is dict and levels:
            found = cast("dict[Any, Any]", value)
            whole = _is_plain(found) and len(json_codec.encode(found)) < _LARGE
            if found and not whole and all(type(key) is str for key in found):
                old = _values(before)
                return Keys({k: self.node(v, old.get(k), levels - 1) for k, v in found.items()})
        return self.piece(value)

    def piece(self, value: Any) -> StoredValue:
        if self.open and _is_plain(value):
            return StoredValue(_JSON, value)
        # Someone may change the message while it is being written: what is written is the twin.
        twin = _private(value) if self.open and isinstance(value, BaseMessage) else None
        kind, data = self.serde.dumps_typed(value if twin is None else twin)
        return StoredValue(kind, bytes(data), twin)

    def value(self, node: Node) -> Any:
        """What a node stands for, to keep: nobody else has any part of it."""
        if isinstance(node, Items):
            return [self.value(piece) for piece in node.all()]
        if isinstance(node, Keys):
            return {key: self.value(one) for key, one in node.values.items()}
        if node.twin is not None:
            return _private(node.twin)
        if node.kind == _JSON:
            return _copied(node.data)
        value = self.serde.loads_typed((node.kind, node.data))
        if self.open and isinstance(value, BaseMessage):
            node.twin = _private(value)
        return value

    def peek(self, node: Node) -> Any:
        """As `value`, only to look at."""
        if isinstance(node, StoredValue) and node.kind == _JSON:
            return node.data
        return self.value(node)

    def message(self, piece: StoredValue) -> Any:
        """As `value`, only to look at, for what may be a message."""
        return piece.twin if piece.twin is not None else self.value(piece)

    def _items(self, values: list[Any], before: Node | None) -> Items:
        old = before.all() if isinstance(before, Items) else []
        for at, (value, known) in enumerate(zip(values, old, strict=False)):
            if _same(value, known):
                continue
            made = self.piece(value)
            if not made.equals(known):
                return Items([*old[:at], made, *map(self.piece, values[at + 1 :])], len(values))
            known.twin = known.twin or made.twin
        keep = min(len(values), len(old))
        return Items([*old[:keep], *map(self.piece, values[keep:])], len(values))


def written(node: Node, before: Node | None, known: Container[str]) -> Any:
    """A node as JSON, given the one that stands before it and the names that are in the log."""
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
    """The node that JSON stands for; its pieces join those that have names. Broken if what it
    shares is not there; ValueError if it is nothing that we write."""
    if isinstance(data, dict):
        found = cast("dict[str, Any]", data)
        if "new" in found:
            return _read_items(found, before, pieces)
        if "map" in found:
            old = _values(before)
            parts = cast("dict[str, Any]", found["map"])
            return Keys({key: read(one, old.get(key), pieces) for key, one in parts.items()})
    return _read_piece(data, pieces)


def common(node: Node, before: Node | None) -> int:
    """How many pieces two lists have in common, from the beginning."""
    if not isinstance(node, Items) or not isinstance(before, Items):
        return 0
    most = min(node.size, before.size)
    if node.pieces is before.pieces:
        return most
    pairs = zip(islice(node.pieces, most), before.pieces, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one is not other), most)


def names_in(node: Node) -> list[StoredValue]:
    """All pieces of a node that have a name."""
    if isinstance(node, Items):
        return [piece for piece in node.all() if piece.name]
    if isinstance(node, Keys):
        return [piece for one in node.values.values() for piece in names_in(one)]
    return [node] if node.name else []


def _values(node: Node | None) -> Mapping[str, Node]:
    """What stands under the keys of a dict; nothing for anything else."""
    return node.values if isinstance(node, Keys) else {}


def _read_items(
    data: Mapping[str, Any], before: Node | None, pieces: dict[str, StoredValue]
) -> Items:
    old = before if isinstance(before, Items) else Items([], 0)
    keep = data.get("keep", 0)
    if type(keep) is not int or keep > old.size:
        raise Broken("the list that it continues is not there")
    return _grown(old, keep, [_read_piece(one, pieces) for one in data["new"]])


def _read_piece(data: Any, pieces: dict[str, StoredValue]) -> StoredValue:
    if isinstance(data, str):
        if data not in pieces:
            raise Broken("a part of it is not there")
        return pieces[data]
    if isinstance(data, dict):
        piece = StoredValue(_JSON, cast("dict[str, Any]", data)["is"])
    else:
        kind, text = cast("Sequence[str]", data)
        piece = StoredValue(kind, b64decode(text))
    return pieces.setdefault(piece.name, piece) if piece.name else piece


def _grown(old: Items, keep: int, new: list[StoredValue]) -> Items:
    """The first of a list's pieces, and new ones. What only grows shares one list of pieces."""
    if keep == old.size == len(old.pieces):
        old.pieces.extend(new)
        return Items(old.pieces, len(old.pieces))
    return Items(old.pieces[:keep] + new, keep + len(new))


def _same(value: Any, piece: StoredValue) -> bool:
    """Whether a value is what a piece stands for, without writing it out; False may be wrong."""
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


def _private(message: BaseMessage) -> BaseMessage | None:
    """A message that shares nothing that can change; None for one that cannot be copied."""
    try:
        if message.__pydantic_extra__ or message.__pydantic_private__:
            return deepcopy(message)
        # What pydantic's own copy does, in a third of the time: a long history is copied often.
        twin = object.__new__(type(message))
        parts = {key: _copied(value) for key, value in message.__dict__.items()}
        object.__setattr__(twin, "__dict__", parts)
        object.__setattr__(twin, "__pydantic_fields_set__", set(message.__pydantic_fields_set__))
        object.__setattr__(twin, "__pydantic_extra__", _copied(message.__pydantic_extra__))
        object.__setattr__(twin, "__pydantic_private__", None)
    except (TypeError, RecursionError):
        return None
    return twin


def _copied(value: Any) -> Any:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: _copied(one) for key, one in value.items()} if value else {}
    if kind is list:
        return [_copied(one) for one in value] if value else []
    return deepcopy(value)


def _is_plain(value: Any, deepest: int = 50) -> bool:
    """Whether JSON gives back exactly this, without going far."""
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
    mark = blake2b(raw, digest_size=15, person=kind.encode()[:16])
    return urlsafe_b64encode(mark.digest()).decode("ascii")


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
