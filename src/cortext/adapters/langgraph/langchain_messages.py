"""Conversion of LangChain messages to cortext records and back.

A record is one stored message of a conversation, in a form that users and other programs can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Annotated, Any, cast

from cortext.adapters.call_matching import OpenCalls
from cortext.adapters.missing_framework import needs
from cortext.model import json_codec
from cortext.model.ids import derived_id
from cortext.model.json_values import json_copy
from cortext.model.message import ROLES, Role, SessionMessage

with needs("langgraph"):
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        convert_to_messages,
        messages_from_dict,
    )
    from langgraph.graph.message import (  # pyright: ignore[reportMissingTypeStubs]
        add_messages as _add_messages,
    )
    from typing_extensions import TypedDict

FRAMEWORK = "langgraph"
MESSAGES = "messages"
"""The name of the LangGraph channel that holds the messages of a conversation."""
NO_RESULT = "The tool was interrupted before it answered: there is no result."
_NO_ANSWER = "no-answer-"
_Call = tuple[int, str | None]
"""A tool call: the index of its message in the history, and the id of the call."""
_ROLES: dict[str, Role] = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool",
}  # fmt: skip


def add_messages(left: Any, right: Any) -> Any:
    """Merge messages as LangGraph's `add_messages` does, and answer interrupted tool calls.

    A tool call counts as interrupted if it has no result and a human message follows it. Such a
    call gets a substitute result, because a model refuses a history with a call without a result.
    """
    return answered(cast("list[AnyMessage]", _add_messages(left, right)))


class MessagesState(TypedDict):
    """LangGraph's `MessagesState`, with an `add_messages` that also answers interrupted calls."""

    messages: Annotated[list[AnyMessage], add_messages]


def answered(messages: Sequence[Any], *, all: bool = False) -> list[Any]:
    """Return the messages, with a substitute result after each tool call without a result.

    If no human message follows a call, the call may still be running. Such a call gets a substitute
    only if `all` is True.
    """
    open_calls = _open_calls(messages, all)
    if not open_calls:
        return list(messages)
    repaired: list[Any] = []
    waiting: list[ToolMessage] = []
    for number, message in enumerate(messages):
        if waiting and not isinstance(message, ToolMessage):
            repaired += waiting
            waiting = []
        repaired.append(message)
        if isinstance(message, AIMessage):
            waiting = [
                ToolMessage(NO_RESULT, tool_call_id=call["id"] or "", name=call["name"],
                            status="error", id=f"{_NO_ANSWER}{message.id or number}-{call['id']}")
                for call in message.tool_calls
                if (number, call["id"]) in open_calls
            ]  # fmt: skip
    return repaired + waiting


def is_ours(message: BaseMessage) -> bool:
    """Return whether a message is a substitute tool result that `answered` added."""
    return isinstance(message, ToolMessage) and (message.id or "").startswith(_NO_ANSWER)


def as_message(value: Any) -> BaseMessage | None:
    """Return a message unchanged, and convert a dict with role and content to a message.

    Returns None for any other value.
    """
    if isinstance(value, dict) and "role" in value and "content" in value:
        try:
            return convert_to_messages([cast("dict[str, Any]", value)])[0]
        except (ValueError, TypeError, NotImplementedError):
            return None
    return value if isinstance(value, BaseMessage) else None


def with_id(record: SessionMessage, id: str) -> SessionMessage:
    return SessionMessage.from_dict({**record.to_dict(), "id": id})


def to_record(message: BaseMessage) -> SessionMessage:
    """Return a record with the role and text of a message.

    The `extra` of the record holds the other fields of the message.
    """
    fields = _fields(message)
    text = str(message.text)
    if fields.get("content") == text:
        del fields["content"]
    calls = [_call(cast("dict[str, Any]", call)) for call in getattr(message, "tool_calls", ())]
    usage = cast("dict[str, Any]", getattr(message, "usage_metadata", None) or {})
    return SessionMessage(
        _role(message),
        text,
        id=message.id or derived_id(message.type, text, json_codec.encode(fields).decode()),
        tool_calls=calls or None,
        tool_call_id=getattr(message, "tool_call_id", None),
        name=message.name,
        tokens=usage.get("output_tokens"),
        extra={FRAMEWORK: {"type": message.type, **fields}},
    )


def to_message(record: SessionMessage) -> BaseMessage:
    """Convert a record of any framework or tool to a LangChain message."""
    own = record.extra.get(FRAMEWORK)
    if isinstance(own, dict):
        fields = {"content": record.content, **cast("dict[str, Any]", own)}
        return messages_from_dict([{"type": fields.pop("type", ""), "data": fields}])[0]
    if record.role == "user":
        return HumanMessage(record.content, id=record.id, name=record.name)
    if record.role == "system":
        return SystemMessage(record.content, id=record.id)
    if record.role == "tool" and record.tool_call_id:
        return ToolMessage(
            record.content, id=record.id, tool_call_id=record.tool_call_id, name=record.name
        )
    calls: list[Any] = [
        {"id": str(call.get("id", "")), "name": str(call.get("name", "")), "args": _arguments(call)}
        for call in record.tool_calls or ()
    ]
    return AIMessage(record.content, id=record.id, tool_calls=calls)


def to_messages(records: Iterable[SessionMessage]) -> list[BaseMessage]:
    """Convert records of other programs to LangChain messages that a model accepts.

    A tool call without a result gets a substitute result. A result without a call becomes text.
    """
    messages: list[BaseMessage] = []
    called: set[str | None] = set()
    for record in records:
        message = to_message(record)
        if isinstance(message, ToolMessage) and message.tool_call_id not in called:
            message = AIMessage(message.content, id=message.id)
        if isinstance(message, AIMessage):
            called.update(call["id"] for call in message.tool_calls)
        messages.append(message)
    return answered(messages, all=True)


def mark_of(record: SessionMessage) -> str:
    """Return a short hash of the role, the text and the LangChain fields of a record.

    If two records with the same id have different hashes, they are different messages.
    """
    fields = [record.role, record.content, record.extra.get(FRAMEWORK)]
    return blake2b(json_codec.encode(fields), digest_size=6).hexdigest()


def _open_calls(messages: Sequence[Any], all: bool) -> set[_Call]:
    calls: OpenCalls[_Call] = OpenCalls()
    last_human = -1
    for number, message in enumerate(messages):
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                calls.add(call["id"] or "", number, (number, call["id"]))
        elif isinstance(message, ToolMessage):
            calls.answer(message.tool_call_id)
        elif isinstance(message, HumanMessage):
            last_human = number
    return {call for call in calls.left() if all or call[0] < last_human}


def _fields(message: BaseMessage) -> dict[str, Any]:
    """Return the fields of a message as JSON, or {} if JSON cannot represent a field."""
    try:
        fields = message.model_dump(mode="json", exclude_defaults=True, exclude={"type"})
        return cast("dict[str, Any]", json_copy(fields, "the message"))
    except ValueError:
        return {}


def _role(message: BaseMessage) -> Role:
    role: Any = getattr(message, "role", "")
    if role in ROLES:
        return role
    return _ROLES.get(message.type, "assistant")


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")}


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    given = call.get("arguments")
    if isinstance(given, str):
        try:
            given = json_codec.decode(given.encode("utf-8", "surrogatepass"))
        except ValueError:
            return {"input": given}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"input": given}
