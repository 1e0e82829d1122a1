"""The records of a session: messages, and tool calls that are recorded outside of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, StructMeta
from msgspec.structs import force_setattr

from cortext import clock
from cortext.model import message_dicts
from cortext.model.chat_completion_messages import fields_of_llm_message, to_llm_message
from cortext.model.ids import new_id
from cortext.model.json_values import UTC, as_utc, json_copy

Role = Literal["system", "user", "assistant", "tool"]
ROLES: frozenset[str] = frozenset(("system", "user", "assistant", "tool"))

# No key of a file may be decoded as the field `extra` itself, which holds unknown keys.
# So the field has a random name in JSON, different in every process.
EXTRA_WIRE_NAME = f"extra {new_id()}"


NO_TIME = datetime.min  # noqa: DTZ901  it has no time zone, so it differs from every real time
"""The placeholder for a missing time. Constructors replace it; decoders do not."""


def _require(name: str, value: Any, *kinds: type[Any]) -> None:
    """Raise ValueError if the value of the field `name` has none of the types `kinds`."""
    if type(value) not in kinds:
        words = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} must be {words}, not {type(value).__name__}")


def complete_identity(value: SessionMessage | ToolInvocation) -> None:
    if value.timestamp is NO_TIME:
        force_setattr(value, "timestamp", clock.now())
    else:
        force_setattr(value, "timestamp", as_utc(value.timestamp))
    if not value.id:
        force_setattr(value, "id", new_id())


def all_complete(values: Sequence[SessionMessage] | Sequence[ToolInvocation]) -> bool:
    """Return whether all of these messages or tool calls have an id and a time in UTC.

    Decoded messages and tool calls may lack them.
    """
    return all([value.id and value.timestamp.tzinfo is UTC for value in values])  # noqa: C419  faster


class _CompletingMeta(StructMeta):
    """A metaclass that calls `complete` on every record after its construction.

    Decoders of msgspec do not call the constructor, so decoded records may lack an id or a time.
    Code that decodes records must therefore call `all_complete`. If the result is False, the code
    must construct each record again.
    """

    if not TYPE_CHECKING:

        def __call__(cls, *args, **kwargs):
            value = super().__call__(*args, **kwargs)
            value.complete()
            return value


class SessionMessage(
    Struct,
    metaclass=_CompletingMeta,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename={"extra": EXTRA_WIRE_NAME},
    # Lines of a log have this tag, so that typed decoding needs no second pass.
    tag_field="type",
    tag="turn",
    # Frozen records with copied values cannot form a cycle. Loading is a third faster without gc.
    gc=False,
):
    """One message of a session: what the user, the agent or a tool said at a certain time.

    The constructor copies nested values. The values of a message must not be changed afterwards.
    `extra` holds unknown keys that were read from a file.
    """

    role: Role
    content: str
    timestamp: datetime = NO_TIME
    id: str = ""
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    tokens: int | None = None
    structured_data: Any = None
    extra: dict[str, Any] = {}

    def complete(self) -> None:
        """Set the time and the id if they are missing, and copy nested values.

        Raises ValueError if a field has a wrong value.
        """
        if type(self.role) is not str or self.role not in ROLES:
            roles = ", ".join(sorted(ROLES))
            raise ValueError(f"role must be one of {roles}, not {self.role!r}")
        if type(self.content) is not str:
            kind = type(self.content).__name__
            raise ValueError(f"content must be text, not {kind}; use structured_data for data")
        if type(self.id) is not str:
            raise ValueError(f"id must be text, not {type(self.id).__name__}")
        complete_identity(self)
        # Most messages have none of these fields, and every append creates a message.
        if self.tool_call_id is not None or self.name is not None or self.tokens is not None:
            _require("tool_call_id", self.tool_call_id, str, NoneType)
            _require("name", self.name, str, NoneType)
            _require("tokens", self.tokens, int, NoneType)
        if self.tool_calls is not None:
            calls = json_copy(self.tool_calls, "tool_calls")
            force_setattr(self, "tool_calls", calls)
            _require("tool_calls", calls, list)
            for call in self.tool_calls:
                _require("each of tool_calls", call, dict)
        if self.structured_data is not None:
            copied = json_copy(self.structured_data, "structured_data")
            force_setattr(self, "structured_data", copied)
        if self.extra:
            _require("extra", self.extra, dict)
            force_setattr(self, "extra", json_copy(self.extra, "extra"))

    def to_dict(self) -> dict[str, Any]:
        """Return the message as a dict for JSON. Optional fields that are None are left out."""
        return message_dicts.message_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SessionMessage:
        return message_from_dict(json_copy(data, "the message", around=8))

    def to_llm_message(self) -> dict[str, Any]:
        """Convert the message to a dict in the form of chat-completions APIs.

        The dict has `role`, `content` and, if present, `tool_calls`, `tool_call_id` and `name`. It
        has no id and no time.
        """
        return to_llm_message(self)

    @classmethod
    def from_llm_message(cls, message: dict[str, Any]) -> SessionMessage:
        """Create a message from a message of a chat-completions API.

        If the content is a list of parts, the new message has their text. The parts and unknown
        keys are stored in `extra`, so that `to_llm_message` can return them. Null values are
        dropped. Raises ValueError if the given message is invalid.
        """
        return cls(**fields_of_llm_message(message))


unchecked_message: Callable[..., SessionMessage] = partial(StructMeta.__call__, SessionMessage)
"""A constructor of `SessionMessage` that is fast, because it skips all checks and copies.

It is used for the many messages of transcripts. The caller must pass a time in UTC, an id, and
values of the right types that no other code changes later.
"""


class ToolInvocation(
    Struct,
    metaclass=_CompletingMeta,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"extra": EXTRA_WIRE_NAME},
    gc=False,
):
    """One tool call of a session with its result. `duration` is in seconds."""

    tool_name: str
    arguments: dict[str, Any] = {}
    result: Any = None
    duration: float = 0.0
    success: bool = True
    error: str | None = None
    id: str = ""
    timestamp: datetime = NO_TIME
    extra: dict[str, Any] = {}

    def complete(self) -> None:
        """Set the time and the id if they are missing, and copy nested values.

        Raises ValueError if a field has a wrong value.
        """
        _require("tool_name", self.tool_name, str)
        _require("id", self.id, str)
        _require("error", self.error, str, NoneType)
        _require("success", self.success, bool)
        _require("arguments", self.arguments, dict)
        _require("extra", self.extra, dict)
        _require("duration", self.duration, float, int)
        complete_identity(self)
        force_setattr(self, "arguments", json_copy(self.arguments, "arguments"))
        force_setattr(self, "result", json_copy(self.result, "result"))
        force_setattr(self, "duration", json_copy(float(self.duration), "duration"))
        if self.extra:
            force_setattr(self, "extra", json_copy(self.extra, "extra"))

    def to_dict(self) -> dict[str, Any]:
        """Return the tool call as a dict for JSON, with all fields, including the empty ones."""
        return message_dicts.invocation_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ToolInvocation:
        return invocation_from_dict(json_copy(data, "the tool call", around=8))


def message_from_dict(
    data: dict[str, Any], names: Mapping[str, str] = message_dicts.NO_NAMES
) -> SessionMessage:
    """Convert a dict from a file to a message.

    `names` has the keys of the fields that have another name in the dict. Raises ValueError if a
    field has a wrong value.
    """
    return message_dicts.record_from_dict(data, names, SessionMessage, ("role", "content"))


def invocation_from_dict(data: dict[str, Any]) -> ToolInvocation:
    """Convert a dict from a file to a tool call.

    Raises ValueError if a field has a wrong value.
    """
    names = message_dicts.NO_NAMES
    return message_dicts.record_from_dict(data, names, ToolInvocation, ("tool_name",))
