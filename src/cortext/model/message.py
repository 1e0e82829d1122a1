"""What a session is a list of: messages, and the tool calls recorded beside them."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from cortext import clock
from cortext.model import wire
from cortext.model.ids import new_id
from cortext.model.values import UTC, as_utc, json_copy

Role = Literal["system", "user", "assistant", "tool"]
ROLES: frozenset[str] = frozenset(("system", "user", "assistant", "tool"))

# `extra` holds the keys of a file that we do not know, so no key of a file may
# reach it under a name of its own: the name is different in every process.
EXTRA_WIRE_NAME = f"extra {new_id()}"


class _Minted(threading.local):
    """How many ids this thread made: a decoder can tell that a record came without one."""

    count = 0


minted = _Minted()


def _mint() -> str:
    minted.count += 1
    return new_id()


class SessionMessage(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename={"extra": EXTRA_WIRE_NAME},
    # Lines of a log say what they are: typed decoding accepts it and needs no second pass.
    tag_field="type",
    tag="turn",
    # Frozen values around copies of JSON cannot form a cycle; untracked they load a third faster.
    gc=False,
):
    """One record of a session. Nested values are copied on entry and must not be mutated."""

    role: Role
    content: str
    timestamp: datetime = field(default_factory=lambda: clock.now())
    id: str = field(default_factory=_mint)
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    tokens: int | None = None
    structured_data: Any = None
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role is one of {', '.join(sorted(ROLES))}, not {self.role!r}")
        if type(self.content) is not str:
            raise ValueError(f"content is text, not {type(self.content).__name__}")
        if self.timestamp.tzinfo is not UTC:
            force_setattr(self, "timestamp", as_utc(self.timestamp))
        if not self.id:
            force_setattr(self, "id", _mint())
        if self.tool_calls is not None:
            force_setattr(self, "tool_calls", json_copy(self.tool_calls, "tool_calls"))
        if self.structured_data is not None:
            force_setattr(self, "structured_data", json_copy(self.structured_data, "data"))
        if self.extra:
            force_setattr(self, "extra", json_copy(self.extra, "extra"))

    def to_dict(self) -> dict[str, Any]:
        """As a document holds it: what is empty and optional is left out."""
        return wire.message_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SessionMessage:
        return wire.message_from_dict(data)


class ToolInvocation(
    Struct, frozen=True, forbid_unknown_fields=True, rename={"extra": EXTRA_WIRE_NAME}, gc=False
):
    """One recorded tool call."""

    tool_name: str
    arguments: dict[str, Any] = {}
    result: Any = None
    duration: float = 0.0
    success: bool = True
    error: str | None = None
    id: str = field(default_factory=_mint)
    timestamp: datetime = field(default_factory=lambda: clock.now())
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        force_setattr(self, "timestamp", as_utc(self.timestamp))
        force_setattr(self, "arguments", json_copy(self.arguments, "arguments"))
        force_setattr(self, "result", json_copy(self.result, "result"))
        force_setattr(self, "duration", json_copy(float(self.duration), "duration"))
        if not self.id:
            force_setattr(self, "id", _mint())
        if self.extra:
            force_setattr(self, "extra", json_copy(self.extra, "extra"))

    def to_dict(self) -> dict[str, Any]:
        """Every field, also the empty ones."""
        return wire.invocation_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ToolInvocation:
        return wire.invocation_from_dict(data)
