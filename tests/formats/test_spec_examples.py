"""The files that the specifications show, read with the values that they show."""

from datetime import UTC, datetime
from pathlib import Path

from cortext.stores.folder import FolderStore
from cortext.stores.log import LogStore

MESSAGES = """\
{"role": "user", "content": "Let's brainstorm API design", "timestamp": "2025-11-22T10:30:00Z"}
{"role": "assistant", "content": "Great! What's the core problem...", "timestamp": "2025-11-22T10:30:15Z"}
"""  # noqa: E501 (as in the spec)
SESSION = """\
{
  "version": "1.0",
  "conversation_id": "001-brainstorm-api-design",
  "conversation_type": "brainstorm",
  "status": "active",
  "created_at": "2025-11-22T10:30:00Z",
  "last_active": "2025-11-22T11:45:00Z",
  "message_count": 24,
  "agent_config": {
    "command": "/workspace.brainstorm",
    "system_prompt_hash": "sha256:abc123...",
    "model": "claude-sonnet-4-5-20250929",
    "tools": ["mcp__cortext__search_workspace", "mcp__cortext__get_context"]
  },
  "context_summary": "Discussing REST vs GraphQL for internal APIs, leaning toward REST for simplicity"
}
"""  # noqa: E501 (as in the spec)
LOG = """\
{"type": "metadata", "session_id": "session-123", "agent": "reviewer", "created_at": "2025-11-22T10:30:00Z"}
{"type": "turn", "role": "user", "content": "hello", "timestamp": "2025-11-22T10:31:00Z", "tokens": 2}
{"type": "turn", "role": "assistant", "content": "hi", "timestamp": "2025-11-22T10:32:00Z", "tokens": 1}
"""  # noqa: E501 (as in the spec)


def at(hour: int, minute: int, second: int = 0) -> datetime:
    return datetime(2025, 11, 22, hour, minute, second, tzinfo=UTC)


def workspace(tmp_path: Path) -> FolderStore:
    folder = tmp_path / "conversations/2025-11-22/001-brainstorm-api-design/.session"
    folder.mkdir(parents=True)
    (folder / "session.json").write_text(SESSION, encoding="utf-8")
    (folder / "messages.jsonl").write_text(MESSAGES, encoding="utf-8")
    return FolderStore(tmp_path)


def test_folder_store_reads_session_files_of_spec_001(tmp_path: Path) -> None:
    """Decision 2 and 3: every value has its place in the session."""
    store = workspace(tmp_path)
    assert store.list_session_ids() == ["001-brainstorm-api-design"]
    found = store.load("001-brainstorm-api-design")
    assert (found.id, found.kind, found.status) == (
        "001-brainstorm-api-design", "brainstorm", "active",
    )  # fmt: skip
    assert (found.created_at, found.updated_at) == (at(10, 30), at(11, 45))
    assert (found.command, found.prompt_hash) == ("/workspace.brainstorm", "sha256:abc123...")
    assert found.model == "claude-sonnet-4-5-20250929"
    assert found.tools == ["mcp__cortext__search_workspace", "mcp__cortext__get_context"]
    assert found.summary.startswith("Discussing REST vs GraphQL")
    assert found.extra == {}
    assert [(m.role, m.content, m.timestamp) for m in found.messages] == [
        ("user", "Let's brainstorm API design", at(10, 30)),
        ("assistant", "Great! What's the core problem...", at(10, 30, 15)),
    ]


def test_messages_without_ids_get_same_ids_at_every_load(tmp_path: Path) -> None:
    """The spec's records have no id; ours are derived, so that a save stores nothing twice."""
    store = workspace(tmp_path)
    first, second = (
        store.load("001-brainstorm-api-design"),
        FolderStore(tmp_path).load("001-brainstorm-api-design"),
    )
    assert first == second
    assert len({message.id for message in first.messages}) == 2
    store.save(first)
    assert FolderStore(tmp_path).load("001-brainstorm-api-design").messages == second.messages


def test_log_store_reads_log_lines_of_spec_002(tmp_path: Path) -> None:
    """Line 1 is metadata, later lines are turns; the last turn's time is the session's."""
    (tmp_path / "session-123.jsonl").write_text(LOG, encoding="utf-8")
    found = LogStore(tmp_path).load("session-123")
    assert (found.id, found.agent, found.status) == ("session-123", "reviewer", "active")
    assert (found.created_at, found.updated_at) == (at(10, 30), at(10, 32))
    assert [(m.role, m.content, m.tokens) for m in found.messages] == [
        ("user", "hello", 2),
        ("assistant", "hi", 1),
    ]


def test_log_store_maps_interrupted_to_paused_both_ways(tmp_path: Path) -> None:
    """Both ways."""
    line = LOG.replace('"agent"', '"status": "interrupted", "agent"', 1)
    (tmp_path / "session-123.jsonl").write_text(line, encoding="utf-8")
    store = LogStore(tmp_path)
    found = store.load("session-123")
    assert found.status == "paused"
    store.save(found)
    first = (tmp_path / "session-123.jsonl").read_bytes().split(b"\n")[0]
    assert b'"status":"interrupted"' in first
    assert b'"type":"metadata"' in first
