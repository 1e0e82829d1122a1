"""Messages as values, and their way to sessions and back."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cortext import Message, SessionMessage
from cortext.service.stores.conversation_json import decode_message, encode_message
from cortext.service.stores.port import from_session_message, to_session_message

BAD = [
    {"role": "robot", "content": "x"},
    {"role": None, "content": "x"},
    {"role": "user", "content": b"x"},
    {"role": "user", "content": None},
    {"role": "user", "content": "x", "timestamp": "today"},
    {"role": "user", "content": "x", "id": 7},
    {"role": "user", "content": "x", "structured_data": {"x": float("nan")}},
    {"role": "user", "content": "x", "structured_data": {1: 2}},
    {"role": "user", "content": "x", "structured_data": {"x": b"bytes"}},
]


@pytest.mark.parametrize("fields", BAD, ids=str)
def test_message_refuses_values_json_cannot_carry(fields: dict[str, Any]) -> None:
    """A bad message is a ValueError when it is made."""
    with pytest.raises(ValueError):
        Message(**fields)


def test_message_gets_unique_id_and_utc_time_on_creation() -> None:
    """So that adding the same one again is known as that."""
    one, two = Message("user", "x"), Message("user", "x")
    assert one.id
    assert one.id != two.id
    assert one.timestamp.tzinfo is UTC


def test_message_copies_nested_structured_data() -> None:
    """Changing what was given does not change the message."""
    data = {"items": [1]}
    message = Message("assistant", "x", structured_data=data)
    data["items"].append(2)
    assert message.structured_data == {"items": [1]}


@pytest.mark.parametrize("content", ["plain", "", "half \ud800", "\0\u2028é😀"])
def test_encoded_message_round_trips(content: str) -> None:
    """Through JSON and back, any text and any structured data."""
    message = Message("assistant", content, structured_data={"a": [1, None, {"ü": content}]})
    assert decode_message(encode_message(message)) == message


def test_decoded_message_without_id_and_time_gets_both() -> None:
    """What a client leaves out is made when the body is read."""
    message = msgspec.json.decode(b'{"role":"user","content":"x","id":null}', type=Message)
    assert message.id
    assert message.timestamp.tzinfo is UTC


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"role":"user"}', b'{"role":1,"content":""}']
)
def test_decode_message_refuses_other_json(body: bytes) -> None:
    """A line that something else wrote is a ValueError."""
    with pytest.raises(ValueError):
        decode_message(body)


def test_message_round_trips_through_session_message() -> None:
    """All that a message has is kept; what only sessions have is left there."""
    message = Message("assistant", "x", datetime(2025, 1, 1, tzinfo=UTC), {"type": "a"}, "m1")
    session_message = to_session_message(message)
    assert session_message == SessionMessage(
        "assistant", "x", datetime(2025, 1, 1, tzinfo=UTC), "m1", structured_data={"type": "a"}
    )
    assert from_session_message(session_message) == message
    rich = SessionMessage("tool", "out", id="m2", tool_call_id="c1", tokens=3)
    assert from_session_message(rich).content == "out"


def test_message_round_trips_through_dict() -> None:
    """Under the names of the service's JSON, and the caller's own."""
    at = datetime(2025, 1, 1, tzinfo=UTC)
    message = Message("assistant", "half \ud800", at, {"type": "a", "items": [1]}, "m1")
    data = message.to_dict()
    assert data == {
        "role": "assistant",
        "content": "half \ud800",
        "timestamp": "2025-01-01T00:00:00Z",
        "structuredData": {"type": "a", "items": [1]},
        "id": "m1",
    }
    again = Message.from_dict(data)
    data["structuredData"]["items"].append(2)
    assert again == message
    assert "structuredData" not in Message("user", "x").to_dict()


@pytest.mark.parametrize("thing", [None, [], {}, {"role": "user"}, {"role": 1, "content": ""}])
def test_from_dict_refuses_invalid_message(thing: Any) -> None:
    """A ValueError, never another kind."""
    with pytest.raises(ValueError):
        Message.from_dict(thing)
