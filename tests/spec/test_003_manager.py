"""Spec 003: the manager."""

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from cortext import (
    Session,
    SessionManager,
    SessionNotFoundError,
    SessionStorage,
    SessionSummary,
)

Opener = Callable[..., SessionManager]


def calls_of(manager: SessionManager, event: str) -> list[tuple[object, ...]]:
    calls: list[tuple[object, ...]] = []
    manager.register_hook(event, lambda *args: calls.append(args))
    return calls


def test_get_singleton_instance() -> None:
    """Session Manager: Get singleton instance"""
    SessionManager.reset_instance()
    first = SessionManager.get_instance()
    try:
        assert SessionManager.get_instance() is first
    finally:
        SessionManager.reset_instance()
        first.index.close()


def test_create_new_session(manager: SessionManager, storage: SessionStorage) -> None:
    """Session Manager: Create new session"""
    starts = calls_of(manager, "session:start")
    session = manager.create(title="Test", model="gpt-4")
    assert isinstance(session, Session)
    assert (session.title, session.model) == ("Test", "gpt-4")
    assert SessionStorage(storage.storage_dir).load(session.id) == session
    assert manager.index.get(session.id) == SessionSummary.from_session(session)
    assert manager.current_session is session
    assert starts == [(session,)]


def test_create_session_with_auto_generated_working_directory(manager: SessionManager) -> None:
    """Session Manager: Create session with auto-generated working directory"""
    assert manager.create().working_dir == os.getcwd()


def test_resume_session(manager: SessionManager, storage: SessionStorage) -> None:
    """Session Manager: Resume session"""
    saved = Session(title="T", updated_at=datetime(2026, 1, 1, tzinfo=UTC))
    saved.messages.append(Session().add_message_from_dict("user", "Hello"))
    storage.save(saved)
    starts = calls_of(manager, "session:start")
    session = manager.resume(saved.id)
    assert (session.id, session.title, session.messages) == (saved.id, "T", saved.messages)
    assert session.updated_at > saved.updated_at
    assert SessionStorage(storage.storage_dir).load(saved.id).updated_at == session.updated_at
    assert manager.index.get(saved.id) == SessionSummary.from_session(session)
    assert manager.current_session is session
    assert starts == [(session,)]


def test_resume_nonexistent_session(manager: SessionManager) -> None:
    """Session Manager: Resume non-existent session"""
    with pytest.raises(SessionNotFoundError):
        manager.resume("nonexistent-id")


def test_resume_latest_session(manager: SessionManager) -> None:
    """Session Manager: Resume latest session"""
    first, second, third = (manager.create(title=title).id for title in "abc")
    manager.close()
    resumed = manager.resume_latest()
    assert resumed is not None
    assert resumed.id == third
    manager.resume(first)
    manager.close()
    again = manager.resume_latest()
    assert again is not None
    assert again.id == first != second


def test_resume_latest_with_no_sessions(manager: SessionManager) -> None:
    """Session Manager: Resume latest with no sessions"""
    assert manager.resume_latest() is None


def test_resume_or_create(manager: SessionManager) -> None:
    """Session Manager: Resume or create"""
    created = manager.resume_or_create()
    assert manager.current_session is created
    assert [summary.id for summary in manager.list_sessions()] == [created.id]
    manager.close()
    assert manager.resume_or_create().id == created.id
    assert len(manager.list_sessions()) == 1
    manager.delete(created.id)
    made = manager.resume_or_create(title="T", working_dir="/w", model="m", tags=["t"])
    assert (made.title, made.working_dir, made.model, made.tags) == ("T", "/w", "m", ["t"])
    assert manager.resume_or_create(title="another").title == "T"


def test_save_session(manager: SessionManager, storage: SessionStorage) -> None:
    """Session Manager: Save session"""
    session = manager.create()
    manager.add_message("user", "Hello")
    saves = calls_of(manager, "session:save")
    manager.save()
    assert SessionStorage(storage.storage_dir).load(session.id) == session
    assert manager.index.get(session.id) == SessionSummary.from_session(session)
    assert saves == [(session,)]


def test_close_session(open_manager: Opener, storage: SessionStorage) -> None:
    """Session Manager: Close session"""
    manager = open_manager(auto_save_interval=60)
    session = manager.create()
    manager.add_message("user", "Hello")
    ends = calls_of(manager, "session:end")
    thread = manager._auto_save_task
    assert isinstance(thread, threading.Thread)
    manager.close()
    assert SessionStorage(storage.storage_dir).load(session.id) == session
    assert ends == [(session,)]
    thread.join(60)
    assert not thread.is_alive()
    assert manager._auto_save_task is None
    assert manager.current_session is None


def test_delete_session(manager: SessionManager, storage: SessionStorage) -> None:
    """Session Manager: Delete session"""
    id = manager.create().id
    manager.close()
    assert manager.delete(id) is True
    assert not storage.exists(id)
    assert manager.index.get(id) is None
    assert manager.delete(id) is False


def test_delete_current_session(open_manager: Opener, storage: SessionStorage) -> None:
    """Session Manager: Delete current session"""
    manager = open_manager(auto_save_interval=60)
    session = manager.create()
    thread = manager._auto_save_task
    assert manager.delete(session.id) is True
    thread.join(60)
    assert not thread.is_alive()
    assert manager._auto_save_task is None
    assert manager.current_session is None
    assert not storage.exists(session.id)
    assert manager.list_sessions() == []


def test_list_sessions(manager: SessionManager) -> None:
    """Session Manager: List sessions"""
    for number in (5, 3, 11, 1, 9, 7, 2, 8, 10, 4, 6, 0):
        manager.create(title=f"title {number:02}")
    found = manager.list_sessions(limit=10, sort_by="title")
    assert all(isinstance(summary, SessionSummary) for summary in found)
    assert [summary.title for summary in found] == [f"title {n:02}" for n in range(10)]


def test_add_message_to_current_session(manager: SessionManager) -> None:
    """Session Manager: Add message to current session"""
    session = manager.create()
    calls = calls_of(manager, "session:message")
    message = manager.add_message("user", "Hello")
    assert session.messages == [message]
    assert (message.role, message.content) == ("user", "Hello")
    assert calls == [(session, message)]


def test_add_message_without_current_session(manager: SessionManager) -> None:
    """Session Manager: Add message without current session"""
    with pytest.raises(ValueError, match="no session"):
        manager.add_message("user", "Hello")


def test_record_tool_call(manager: SessionManager) -> None:
    """Session Manager: Record tool call"""
    session = manager.create()
    call = manager.record_tool_call("bash", {"command": "ls"}, result={"output": "x"})
    assert session.tool_history == [call]
    assert (call.tool_name, call.arguments) == ("bash", {"command": "ls"})
    assert call.result == {"output": "x"}


def test_update_token_usage(manager: SessionManager) -> None:
    """Session Manager: Update token usage"""
    session = manager.create()
    manager.update_usage(100, 50)
    assert (session.total_prompt_tokens, session.total_completion_tokens) == (100, 50)
    assert session.total_tokens == 150


def test_generate_title(manager: SessionManager) -> None:
    """Session Manager: Generate title"""
    session = Session()
    session.add_message_from_dict("system", "Be brief")
    session.add_message_from_dict("user", "Help me refactor the API client")
    session.add_message_from_dict("user", "And then this")
    assert manager.generate_title(session) == "Help me refactor the API client"
    long = Session()
    long.add_message_from_dict("user", "x" * 51)
    assert manager.generate_title(long) == "x" * 47 + "..."
    assert len(manager.generate_title(long)) == 50
    fits = Session()
    fits.add_message_from_dict("user", "x" * 50)
    assert manager.generate_title(fits) == "x" * 50
    silent = Session(created_at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC))
    silent.add_message_from_dict("assistant", "Hello?")
    assert manager.generate_title(silent) == "Session 2026-03-04 05:06"


def test_set_title(manager: SessionManager) -> None:
    """Session Manager: Set title"""
    session = manager.create(title="Old")
    before = session.updated_at
    manager.set_title("New Title")
    assert session.title == "New Title"
    assert session.updated_at > before


def test_add_tag(manager: SessionManager) -> None:
    """Session Manager: Add tag"""
    session = manager.create()
    before = session.updated_at
    manager.add_tag("python")
    assert "python" in session.tags
    assert session.updated_at > before


def test_add_duplicate_tag(manager: SessionManager) -> None:
    """Session Manager: Add duplicate tag"""
    session = manager.create(tags=["python"])
    manager.add_tag("python")
    assert session.tags == ["python"]


def test_remove_tag(manager: SessionManager) -> None:
    """Session Manager: Remove tag"""
    session = manager.create(tags=["python"])
    assert manager.remove_tag("python") is True
    assert "python" not in session.tags
    assert manager.remove_tag("python") is False
