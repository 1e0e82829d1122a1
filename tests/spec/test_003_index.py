"""Spec 003: the index."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import Session, SessionIndex, SessionStorage, SessionSummary

START = datetime(2026, 1, 1, tzinfo=UTC)


def fill(storage: SessionStorage, count: int) -> list[str]:
    """Saves sessions a minute apart; their ids, newest first."""
    for number in range(count):
        when = START + timedelta(minutes=number)
        storage.save(Session(f"s{number:03}", created_at=when, updated_at=when))
    return [f"s{number:03}" for number in reversed(range(count))]


def ids(summaries: list[SessionSummary]) -> list[str]:
    return [summary.id for summary in summaries]


def exported(storage: SessionStorage) -> dict[str, object]:
    return json.loads((storage.storage_dir / "index.json").read_text(encoding="utf-8"))


def test_create_index(storage: SessionStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Session Index: Create index"""
    expected = fill(storage, 3)
    rebuilt = SessionIndex(storage)
    assert ids(rebuilt.list()) == expected
    rebuilt.close()
    reads: list[str] = []
    load = storage.load
    monkeypatch.setattr(storage, "load", lambda id: reads.append(id) or load(id))
    loaded = SessionIndex(storage)
    assert ids(loaded.list()) == expected
    assert reads == []
    loaded.close()


def test_add_session_to_index(index: SessionIndex) -> None:
    """Session Index: Add session to index"""
    session = Session(title="T")
    assert not index.is_dirty
    index.add(session)
    assert index.get(session.id) == SessionSummary.from_session(session)
    assert index.is_dirty


def test_remove_session_from_index(index: SessionIndex) -> None:
    """Session Index: Remove session from index"""
    session = Session()
    index.add(session)
    assert index.remove(session.id) is True
    assert index.get(session.id) is None
    assert index.list() == []
    assert index.remove(session.id) is False


def test_get_session_summary(index: SessionIndex, storage: SessionStorage) -> None:
    """Session Index: Get session summary"""
    session = Session(title="T", model="gpt-4", working_dir="/w", tags=["a"])
    session.add_message_from_dict("user", "Hello")
    session.update_usage(3, 4)
    storage.save(session)
    index.add(session)
    summary = index.get(session.id)
    assert isinstance(summary, SessionSummary)
    assert summary.id == session.id
    assert summary.title == "T"
    assert summary.message_count == 1
    assert summary.total_tokens == 7
    assert (summary.model, summary.working_dir, summary.tags) == ("gpt-4", "/w", ["a"])
    assert (summary.created_at, summary.updated_at) == (session.created_at, session.updated_at)
    assert index.get("nonexistent-id") is None


def test_list_sessions_with_default_sorting(storage: SessionStorage) -> None:
    """Session Index: List sessions with default sorting"""
    expected = fill(storage, 55)
    index = SessionIndex(storage)
    assert ids(index.list()) == expected[:50]
    index.close()


def test_list_sessions_with_pagination(storage: SessionStorage) -> None:
    """Session Index: List sessions with pagination"""
    expected = fill(storage, 100)
    index = SessionIndex(storage)
    assert ids(index.list(limit=10, offset=20)) == expected[20:30]
    index.close()


def test_list_sessions_filtered_by_tags(index: SessionIndex) -> None:
    """Session Index: List sessions filtered by tags"""
    for id, tags in (("a", ["python"]), ("b", ["python", "api"]), ("c", ["javascript"])):
        index.add(Session(id, tags=tags))
    assert sorted(ids(index.list(tags=["python"]))) == ["a", "b"]


def test_list_sessions_with_search(index: SessionIndex) -> None:
    """Session Index: List sessions with search"""
    titles = {"a": "Refactor the client", "b": "implement it", "c": "then refactor again"}
    for id, title in titles.items():
        index.add(Session(id, title=title))
    assert sorted(ids(index.list(search="refactor"))) == ["a", "c"]


@pytest.mark.parametrize("state", ["empty", "corrupted"])
def test_rebuild_index(storage: SessionStorage, state: str) -> None:
    """Session Index: Rebuild index"""
    index = SessionIndex(storage)
    expected = fill(storage, 3)
    export: Path = storage.storage_dir / "index.json"
    if state == "corrupted":
        index.rebuild()
        export.write_bytes(b"{{{")
    assert index.rebuild() == 3
    assert ids(index.list()) == expected
    data = exported(storage)
    assert data["version"] == 1
    assert sorted(data["sessions"]) == sorted(expected)  # type: ignore[call-overload]
    assert not index.is_dirty
    index.close()


def test_get_recent_is_the_default_list(index: SessionIndex, storage: SessionStorage) -> None:
    """Session Index: List sessions with default sorting"""
    expected = fill(storage, 12)
    index.rebuild()
    assert ids(index.get_recent()) == expected[:10]
    assert len(index) == 12
    assert expected[0] in index
