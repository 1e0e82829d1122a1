"""Spec 003: sessions, messages, tool invocations and summaries."""

import json
from datetime import datetime, timedelta
from uuid import UUID

from cortext import Session, SessionMessage, SessionSummary, ToolInvocation, clock


def is_now(when: datetime) -> bool:
    return timedelta(0) <= clock.now() - when < timedelta(seconds=30)


def a_conversation() -> Session:
    session = Session(
        title="A talk", working_dir="/w", model="gpt-4", tags=["a"], metadata={"k": 1}
    )
    session.add_message_from_dict("user", "Hello")
    session.add_message_from_dict("assistant", "Hi", tool_calls=[{"id": "1", "name": "bash"}])
    session.record_tool_call("bash", {"command": "ls"}, result={"output": "..."}, duration=0.5)
    session.update_usage(10, 20)
    return session


def test_create_a_new_session() -> None:
    """Session Model: Create a new session"""
    first, second = Session(), Session()
    assert str(UUID(first.id)) == first.id
    assert first.id != second.id
    assert is_now(first.created_at)
    assert is_now(first.updated_at)
    assert first.messages == []
    assert first.tool_history == []
    assert (first.total_prompt_tokens, first.total_completion_tokens, first.total_tokens) == (
        0, 0, 0,
    )  # fmt: skip


def test_add_message_to_session() -> None:
    """Session Model: Add message to session"""
    session = Session()
    before = session.updated_at
    session.add_message_from_dict("user", "Hello")
    assert len(session.messages) == session.message_count == 1
    assert session.messages[0].role == "user"
    assert session.messages[0].content == "Hello"
    assert session.updated_at > before


def test_add_tool_invocation_to_session() -> None:
    """Session Model: Add tool invocation to session"""
    session = Session()
    session.record_tool_call("bash", {"command": "ls"}, result={"output": "..."})
    assert len(session.tool_history) == 1
    assert session.tool_history[0].tool_name == "bash"
    assert session.tool_history[0].arguments == {"command": "ls"}
    assert session.tool_history[0].result == {"output": "..."}
    assert is_now(session.tool_history[0].timestamp)


def test_update_token_usage() -> None:
    """Session Model: Update token usage"""
    session = Session(total_prompt_tokens=100, total_completion_tokens=50)
    session.update_usage(200, 100)
    assert session.total_prompt_tokens == 300
    assert session.total_completion_tokens == 150
    assert session.total_tokens == 450


def test_serialize_session_to_dict() -> None:
    """Session Model: Serialize session to dict"""
    session = a_conversation()
    data = session.to_dict()
    assert data["id"] == session.id
    assert data["title"] == "A talk"
    assert isinstance(data["messages"], list)
    assert isinstance(data["tool_history"], list)
    assert [message["content"] for message in data["messages"]] == ["Hello", "Hi"]
    assert [call["tool_name"] for call in data["tool_history"]] == ["bash"]
    for name in ("created_at", "updated_at"):
        assert isinstance(data[name], str)
        assert datetime.fromisoformat(data[name]) == getattr(session, name)
    for record in data["messages"] + data["tool_history"]:
        assert datetime.fromisoformat(record["timestamp"]).tzinfo is not None


def test_deserialize_session_from_dict() -> None:
    """Session Model: Deserialize session from dict"""
    session = a_conversation()
    restored = Session.from_dict(session.to_dict())
    assert isinstance(restored, Session)
    assert restored == session
    for when in (restored.created_at, restored.messages[0].timestamp):
        assert isinstance(when, datetime)
        assert when.tzinfo is not None


def test_serialize_session_to_json() -> None:
    """Session Model: Serialize session to JSON"""
    session = a_conversation()
    text = session.to_json()
    assert isinstance(text, str)
    assert json.loads(text) == session.to_dict()
    assert {
        "id", "title", "created_at", "updated_at", "working_dir", "model", "messages",
        "tool_history", "total_prompt_tokens", "total_completion_tokens", "tags", "metadata",
    } <= set(json.loads(text))  # fmt: skip
    assert Session.from_json(text) == session
    assert text == session.to_json(indent=2) == json.dumps(json.loads(text), indent=2)
    assert "\n" not in session.to_json(indent=None)
    assert json.loads(session.to_json(indent=None)) == session.to_dict()


def test_create_session_message() -> None:
    """Session Message: Create session message"""
    first, second = (SessionMessage(role="user", content="test") for _ in range(2))
    assert first.id
    assert first.id != second.id
    assert is_now(first.timestamp)


def test_message_with_tool_calls() -> None:
    """Session Message: Message with tool calls"""
    message = SessionMessage("assistant", "", tool_calls=[{"id": "1", "name": "bash"}])
    assert message.to_dict()["tool_calls"] == [{"id": "1", "name": "bash"}]


def test_tool_result_message() -> None:
    """Session Message: Tool result message"""
    message = SessionMessage(role="tool", content="result", tool_call_id="abc")
    assert message.to_dict()["tool_call_id"] == "abc"


def test_create_tool_invocation() -> None:
    """Tool Invocation: Create tool invocation"""
    first, second = (
        ToolInvocation(tool_name="read", arguments={"file": "test.py"}) for _ in range(2)
    )
    assert first.id
    assert first.id != second.id
    assert first.success is True
    assert is_now(first.timestamp)


def test_record_failed_tool_invocation() -> None:
    """Tool Invocation: Record failed tool invocation"""
    call = ToolInvocation("read", {"file": "x"}, success=False, error="File not found")
    assert call.to_dict()["error"] == "File not found"
    assert call.to_dict()["success"] is False


def test_serialize_tool_invocation() -> None:
    """Tool Invocation: Serialize tool invocation"""
    call = ToolInvocation("bash", {"command": "ls"}, result={"output": "x"}, duration=1.5)
    data = call.to_dict()
    assert {
        "id", "tool_name", "arguments", "result", "duration", "success", "error", "timestamp",
    } == set(data)  # fmt: skip
    assert data["result"] == {"output": "x"}
    assert isinstance(data["timestamp"], str)
    assert datetime.fromisoformat(data["timestamp"]) == call.timestamp


def test_create_summary_from_session() -> None:
    """Session Summary: Create summary from session"""
    session = a_conversation()
    summary = SessionSummary.from_session(session)
    assert summary.id == session.id
    assert summary.message_count == 2
    assert summary.total_tokens == 30
    assert not hasattr(summary, "messages")
    assert "Hello" not in str(summary.to_dict())


def test_serialize_summary() -> None:
    """Session Summary: Serialize summary"""
    session = a_conversation()
    summary = SessionSummary.from_session(session)
    data = summary.to_dict()
    assert {
        "id", "title", "created_at", "updated_at", "working_dir", "model", "message_count",
        "total_tokens", "tags",
    } <= set(data)  # fmt: skip
    assert set(data) == set(summary.__struct_fields__)
    for name in ("created_at", "updated_at"):
        assert isinstance(data[name], str)
        assert datetime.fromisoformat(data[name]) == getattr(session, name)
