"""Messages in the form of chat-completions APIs, and back."""

from typing import Any

import pytest
from msgspec.structs import replace

from cortext import Session, SessionMessage

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"a": 1}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}
MESSAGES: dict[str, tuple[dict[str, Any], str]] = {
    "system": ({"role": "system", "content": "Be brief"}, "Be brief"),
    "user with a name": ({"role": "user", "content": "Hi", "name": "ann"}, "Hi"),
    "empty": ({"role": "user", "content": ""}, ""),
    "call": ({"role": "assistant", "content": None, "tool_calls": [CALL]}, ""),
    "call with text": ({"role": "assistant", "content": "ls", "tool_calls": [CALL]}, "ls"),
    "result": ({"role": "tool", "content": "ok", "tool_call_id": "c1", "name": "bash"}, "ok"),
    "parts": (
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, IMAGE,
                                     {"type": "text", "text": "a cat?"}]},
        "Look:\na cat?",
    ),
    "further keys": ({"role": "assistant", "content": "No", "refusal": "No", "audio": {"id": "a"}},
                     "No"),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_llm_message_round_trips(name: str) -> None:
    given, content = MESSAGES[name]
    message = SessionMessage.from_llm_message(given)
    assert message.content == content
    assert message.to_llm_message() == given


@pytest.mark.parametrize("name", MESSAGES)
def test_llm_message_round_trips_through_session_json(name: str) -> None:
    given, _ = MESSAGES[name]
    session = Session(messages=[SessionMessage.from_llm_message(given)])
    assert Session.from_json(session.to_json()).messages[0].to_llm_message() == given


def test_session_message_keeps_its_fields_in_llm_message() -> None:
    message = SessionMessage("assistant", "", tool_calls=[{"id": "1", "name": "bash"}], tokens=3)
    data = message.to_llm_message()
    assert data == {
        "role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "bash"}],
    }  # fmt: skip
    again = SessionMessage.from_llm_message(data)
    assert again == replace(message, id=again.id, timestamp=again.timestamp, tokens=None)
    assert again.id != message.id


def test_null_keys_are_omitted_from_llm_message() -> None:
    """As a provider's library dumps its answer."""
    message = SessionMessage.from_llm_message(
        {"role": "assistant", "content": "Hi", "refusal": None, "tool_calls": None}
    )
    assert message.to_llm_message() == {"role": "assistant", "content": "Hi"}
    assert message.extra == {}


def test_changing_llm_message_does_not_change_session_message() -> None:
    given, _ = MESSAGES["parts"]
    message = SessionMessage.from_llm_message(given)
    message.to_llm_message()["content"].clear()
    assert message.to_llm_message() == given


def test_edited_text_replaces_original_parts() -> None:
    message = SessionMessage.from_llm_message(MESSAGES["parts"][0])
    assert replace(message, content="[redacted]").to_llm_message()["content"] == "[redacted]"


@pytest.mark.parametrize("rest", [5, [], {"content": 5, "role": "system", "tool_calls": 1}])
def test_foreign_extra_key_cannot_change_llm_message(rest: Any) -> None:
    """A key of the same name that another program wrote."""
    message = SessionMessage("user", "Hi", tool_calls=[CALL], extra={"llm_message": rest})
    assert message.to_llm_message() == {"role": "user", "content": "Hi", "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("Hi", "a JSON object was expected"),
        ({}, "role must be one of"),
        ({"role": "function", "content": "x"}, "role must be one of"),
        ({"role": "user", "content": 5}, "content must be text or a list of parts, not int"),
        ({"role": "user", "content": "x", "name": 5}, "name must be str"),
        ({"role": "assistant", "content": "x", "tool_calls": "y"}, "tool_calls must be list"),
        ({"role": "user", "content": [{"type": "image", "data": b"x"}]}, "JSON cannot represent"),
    ],
)
def test_from_llm_message_refuses_invalid_input(given: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SessionMessage.from_llm_message(given)
