"""The session: the durable record of one conversation.

A session has messages, tool calls, and a head. The head is everything else, such as title and
status.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field

from cortext import clock
from cortext.model import json_codec, message_dicts
from cortext.model.ids import new_id
from cortext.model.json_values import as_utc, json_copy
from cortext.model.message import (
    Role,
    SessionMessage,
    ToolInvocation,
    invocation_from_dict,
    message_from_dict,
)
from cortext.model.session_head_codec import FIELDS, HEAD, check_head, decode_head, encode_head
from cortext.model.status import Status

_JSON_FIELDS = ("metadata", "pending", "native", "extra")
# The id is not checked here: each operation of a store checks it and raises its own error.
_ALL_BUT_ID = tuple(name for name in (*FIELDS, "extra") if name != "id")


class Session(Struct, weakref=True):
    """The durable record of one conversation. All times are in UTC and have a time zone.

    `native` has the bindings as JSON objects. A binding is a link to a session of an AI tool in
    which the conversation took place. `extra` has unknown keys that were read from a file.
    """

    id: str = field(default_factory=new_id)
    title: str = ""
    created_at: datetime = field(default_factory=lambda: clock.now())
    updated_at: datetime = field(default_factory=lambda: clock.now())
    working_dir: str = ""
    model: str = ""
    messages: list[SessionMessage] = []
    tool_history: list[ToolInvocation] = []
    total_prompt_tokens: int = 0
    total_completion_tokens: int = 0
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    kind: str = ""
    status: Status = "active"
    owner: str = ""
    parent_id: str = ""
    stop_reason: str = ""
    summary: str = ""
    agent: str = ""
    command: str = ""
    prompt_hash: str = ""
    tools: list[str] = []
    native: list[dict[str, Any]] = []
    pending: Any = None
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        self.created_at = as_utc(self.created_at)
        self.updated_at = as_utc(self.updated_at)
        for name in _JSON_FIELDS:
            setattr(self, name, json_copy(getattr(self, name), name))
        check_head(self, _ALL_BUT_ID)

    @property
    def message_count(self) -> int:
        return len(self.messages)

    @property
    def total_tokens(self) -> int:
        return self.total_prompt_tokens + self.total_completion_tokens

    def touch(self) -> None:
        """Set `updated_at` to the current time.

        The new time is at least one microsecond later than the old time.
        """
        try:
            later = as_utc(self.updated_at) + timedelta(microseconds=1)
        except OverflowError:
            return
        self.updated_at = max(clock.now(), later)

    def add_message(self, message: SessionMessage) -> None:
        if not isinstance(message, SessionMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"a message must be a SessionMessage, not {type(message).__name__}")
        self.messages.append(message)
        self.touch()

    def add_message_from_dict(self, role: Role, content: str, **fields: Any) -> SessionMessage:
        message = SessionMessage(role, content, **fields)
        self.add_message(message)
        return message

    def add_tool_invocation(self, invocation: ToolInvocation) -> None:
        if not isinstance(invocation, ToolInvocation):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"a tool call must be a ToolInvocation, not {type(invocation).__name__}"
            )
        self.tool_history.append(invocation)
        self.touch()

    def record_tool_call(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        result: Any = None,
        duration: float = 0.0,
        success: bool = True,
        error: str | None = None,
    ) -> ToolInvocation:
        invocation = ToolInvocation(tool_name, arguments, result, duration, success, error)
        self.add_tool_invocation(invocation)
        return invocation

    def update_usage(self, prompt: int, completion: int) -> None:
        if type(prompt) is not int or type(completion) is not int:
            raise ValueError("token counts must be whole numbers")
        self.total_prompt_tokens += prompt
        self.total_completion_tokens += completion
        self.touch()

    def to_dict(self) -> dict[str, Any]:
        """Return the session as a dict for JSON, with times as ISO 8601 text."""
        data = encode_head(self, HEAD)
        data["messages"] = [message.to_dict() for message in self.messages]
        data["tool_history"] = [invocation.to_dict() for invocation in self.tool_history]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Session:
        """Create a session from a dict that `to_dict` returned.

        Raises ValueError if the dict is invalid.
        """
        return cls.from_decoded(json_copy(data, "the session", around=8))

    @classmethod
    def from_decoded(cls, data: dict[str, Any]) -> Session:
        """Create a session from a dict as `from_dict` does, but without copying the dict.

        The caller must not use the dict afterwards.
        """
        head = dict(data)
        messages = message_dicts.dicts(head.pop("messages", None), "messages")
        history = message_dicts.dicts(head.pop("tool_history", None), "tool_history")
        session = message_dicts.convert(decode_head(head, HEAD), cls)
        session.id = session.id or new_id()
        session.messages = [message_from_dict(item) for item in messages]
        session.tool_history = [invocation_from_dict(item) for item in history]
        return session

    def to_json(self, indent: int | None = 2) -> str:
        """Return the session as JSON text, on one line if `indent` is None."""
        data = self.to_dict()
        return (json_codec.pretty(data, indent) if indent else json_codec.encode(data)).decode(
            "utf-8"
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Session:
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return cls.from_decoded(message_dicts.as_dict(json_codec.decode(raw)))
