"""LangGraph's serializer with an allow-list, so that stored data never decides which code runs.

LangGraph packs an object as the name of its type and the arguments of its constructor. By default
it imports any name and calls it, so stored data with the name `os.system` runs a command. This
serializer refuses types that are not on the allow-list, when a value is written and when it is
read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from cortext.adapters.missing_framework import needs
from cortext.errors import CheckpointTypeError

with needs("langgraph"):
    import ormsgpack
    from langgraph.checkpoint.serde import _msgpack
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
    from langgraph.checkpoint.serde.jsonplus import (
        EXT_CONSTRUCTOR_KW_ARGS,
        EXT_CONSTRUCTOR_POS_ARGS,
        EXT_CONSTRUCTOR_SINGLE_ARG,
        EXT_DELTA_SNAPSHOT,
        EXT_METHOD_SINGLE_ARG,
        EXT_NUMPY_ARRAY,
        EXT_PYDANTIC_V1,
        EXT_PYDANTIC_V2,
        JsonPlusSerializer,
    )

AllowedType = type | tuple[str, ...]
"""A class, or a tuple of the module and the name of a class."""
_KINDS = frozenset(("null", "bytes", "bytearray", "msgpack"))
"""The encodings that LangGraph's serializer uses by default."""
_PICKLE = "pickle"
_TYPE_CODES = frozenset(
    (
        EXT_CONSTRUCTOR_SINGLE_ARG,
        EXT_CONSTRUCTOR_POS_ARGS,
        EXT_CONSTRUCTOR_KW_ARGS,
        EXT_METHOD_SINGLE_ARG,
        EXT_PYDANTIC_V1,
        EXT_PYDANTIC_V2,
    )
)
"""The codes of the MessagePack extensions that contain the name of a type to construct."""
_SAFE = _msgpack.SAFE_MSGPACK_TYPES | _msgpack.SAFE_MSGPACK_METHODS
_NESTED_CODES = _TYPE_CODES | {EXT_NUMPY_ARRAY, EXT_DELTA_SNAPSHOT}
"""The codes of the MessagePack extensions that may contain further extensions."""


class ForbiddenType(Exception):
    """The error for a value whose type or encoding is not allowed.

    `name` is the name of the type. If the encoding is not allowed, `is_kind` is True, and `name` is
    the name of the encoding, such as `pickle`.
    """

    def __init__(self, name: str, *, is_kind: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.is_kind = is_kind


class CheckpointSerializer(JsonPlusSerializer):
    """LangGraph's serializer, limited to the types that are safe or explicitly allowed."""

    def __init__(
        self, allowed_types: Iterable[AllowedType] = (), *, pickle_fallback: bool = False
    ) -> None:
        super().__init__(
            pickle_fallback=pickle_fallback, allowed_msgpack_modules=tuple(allowed_types)
        )

    @classmethod
    def restrict(
        cls, serde: JsonPlusSerializer, allowed_types: Iterable[AllowedType]
    ) -> CheckpointSerializer:
        """Return a serializer for `allowed_types` and the types on the allow-list of `serde`.

        LangGraph's default serializer has no allow-list and allows every type. If `serde` has no
        allow-list, the result allows only `allowed_types` and the types that are always safe.
        """
        known = serde._allowed_msgpack_modules
        listed = known if isinstance(known, set) else ()
        return cls((*listed, *allowed_types), pickle_fallback=serde.pickle_fallback)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Pack a value. Raises ForbiddenType if the value contains a type that is not allowed."""
        kind, data = super().dumps_typed(obj)
        self._check(kind, data)
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Unpack a value. Raises ForbiddenType if the data names a type that is not allowed.

        The check comes first, so no object of a forbidden type is constructed.
        """
        self._check(*data)
        return super().loads_typed(data)

    def _check(self, kind: str, data: bytes) -> None:
        if kind not in _KINDS and not (kind == _PICKLE and self.pickle_fallback):
            raise ForbiddenType(kind, is_kind=True)
        if kind != "msgpack":
            return
        listed = self._allowed_msgpack_modules
        allowed = listed if isinstance(listed, set) else frozenset[tuple[str, ...]]()
        for name in _types_in(data):
            # LangGraph calls only its own safe methods, whatever types are allowed.
            if name not in _SAFE and name not in allowed:
                raise ForbiddenType(".".join(name))


def restrict(
    serde: SerializerProtocol | None, allowed_types: Iterable[AllowedType]
) -> SerializerProtocol:
    """Return a serializer like `serde` that allows only safe types and `allowed_types`.

    If `serde` is None, use LangGraph's default serializer. If `serde` is not one of LangGraph's own
    classes, return it unchanged, because it decides itself which types it allows. Raises ValueError
    if `allowed_types` is given for such a serializer.
    """
    if serde is None:
        return CheckpointSerializer(allowed_types)
    if type(serde) is JsonPlusSerializer or type(serde) is CheckpointSerializer:
        return CheckpointSerializer.restrict(serde, allowed_types)
    if type(serde) is EncryptedSerializer:
        return EncryptedSerializer(serde.cipher, restrict(serde.serde, allowed_types))
    if tuple(allowed_types):
        raise ValueError(
            f"allowed_types needs a serializer of LangGraph: {type(serde).__name__} decides by "
            "itself which types it reads"
        )
    return serde


@contextmanager
def name_refusals(thread: str, checkpoint: str = "") -> Generator[None]:
    """Return a context manager that turns ForbiddenType into CheckpointTypeError.

    CheckpointTypeError also names the thread and the checkpoint.
    """
    try:
        yield
    except ForbiddenType as error:
        raise CheckpointTypeError(
            error.name, thread=thread, checkpoint=checkpoint, is_kind=error.is_kind
        ) from None


def _types_in(packed: bytes) -> set[tuple[str, ...]]:
    """Return the module and the name of every type that a packed value would construct.

    For a method call, the tuple also has the name of the method. No object is constructed.
    """
    names: set[tuple[str, ...]] = set()

    def collect(code: int, data: bytes) -> None:
        if code in _NESTED_CODES:
            inner = _unpack(data, collect)
            if code in _TYPE_CODES:
                names.add(_type_name(inner, is_method=code == EXT_METHOD_SINGLE_ARG))

    _unpack(packed, collect)
    return names


def _unpack(packed: bytes, collect: Any) -> Any:
    return ormsgpack.unpackb(packed, ext_hook=collect, option=ormsgpack.OPT_NON_STR_KEYS)


def _type_name(inner: Any, *, is_method: bool) -> tuple[str, ...]:
    match inner:
        case [str(module), str(name), _, str(method), *_] if is_method:
            return module, name, method
        case [str(module), str(name), *_] if not is_method:
            return module, name
        case _:
            return ("(without a name)",)
