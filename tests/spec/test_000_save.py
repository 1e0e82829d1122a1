"""Conversations that are saved and stopped: SESS-001 and SESS-002, through the command line."""

import hashlib
import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from cortext import SessionMessage, open_session_store
from tests.command import begin, folder_of, head_of, ok
from tests.homes import lay_out, move_project, said

COMMANDS = ".workspace/commands"


def test_session_state_saved_when_conversation_ends(tmp_workspace: Path) -> None:
    """Session State Persistence: Session state saved when conversation ends"""
    paused = begin(tmp_workspace, "brainstorm", "Topic", "Let us pause here.", "Fine.")
    ok(tmp_workspace, "stop")
    completed = begin(tmp_workspace, "brainstorm", "Other", "We are done.", "Good.")
    ok(tmp_workspace, "done")
    for id, status in ((paused, "paused"), (completed, "completed")):
        folder = folder_of(tmp_workspace, id)
        assert (folder / "brainstorm.md").is_file()
        assert head_of(tmp_workspace, id)["status"] == status
        lines = (folder / ".session/messages.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 2


def test_session_includes_agent_configuration(
    tmp_workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Session State Persistence: Session includes agent configuration"""
    homes = lay_out(tmp_path_factory.mktemp("person"))
    move_project(homes, tmp_workspace)
    servers = {"mcpServers": {"github": {"command": "false"}}}
    (tmp_workspace / ".mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    inside = {**homes.environment, "CLAUDE_CODE_SESSION_ID": said("claude")[0]}
    ok(tmp_workspace, "slash", "new", "brainstorm", "Topic", env=inside)
    ok(tmp_workspace, "slash", "stop", "We were exploring.", env=inside)
    text = (tmp_workspace / COMMANDS / "brainstorm.md").read_bytes()
    transcript = homes.transcript("claude").read_text(encoding="utf-8")
    (model,) = set(re.findall(r'"model":"(claude-[^"]+)"', transcript))
    assert head_of(tmp_workspace, "001-brainstorm-topic")["agent_config"] == {
        "agent": "claude",
        "command": "/workspace.brainstorm",
        "system_prompt_hash": f"sha256:{hashlib.sha256(text).hexdigest()}",
        "model": model,
        "tools": ["mcp__github"],
    }


def test_message_history_format(tmp_workspace: Path) -> None:
    """Session State Persistence: Message history format"""
    id = begin(tmp_workspace, "brainstorm", "Topic", "One\nline", "Two", "Three \u2028 lines")
    store = open_session_store(f"workspace:{tmp_workspace}")
    store.append(id, SessionMessage("assistant", "Four"))
    ok(tmp_workspace, "stop")
    data = (folder_of(tmp_workspace, id) / ".session/messages.jsonl").read_bytes()
    assert data.endswith(b"\n")
    records = [json.loads(line) for line in data.split(b"\n")[:-1]]
    assert [record["role"] for record in records] == ["user", "assistant", "user", "assistant"]
    assert [record["content"] for record in records][::3] == ["One\nline", "Four"]
    times = [datetime.fromisoformat(record["timestamp"]) for record in records]
    assert times == sorted(times)


def test_explicit_stop_command(tmp_workspace: Path) -> None:
    """Stop Conversation Command: Explicit stop command"""
    id = begin(tmp_workspace, "plan", "Launch", "When do we launch?", "In May.")
    command = (tmp_workspace / COMMANDS / "stop-conversation.md").read_text(encoding="utf-8")
    assert "cortext slash stop" in command
    for words in (["slash", "stop", "May it is."], ["stop"]):
        out = ok(tmp_workspace, *words)
        assert out.startswith("Session saved.\n")
        assert "/workspace.resume" in out
        assert head_of(tmp_workspace, id)["status"] == "paused"
        ok(tmp_workspace, "resume", id)


def test_stop_command_feedback(tmp_workspace: Path) -> None:
    """Stop Conversation Command: Stop command feedback"""
    summary = "We were exploring REST vs GraphQL, leaning toward REST for simplicity."
    begin(tmp_workspace, "brainstorm", "API Design Discussion", "REST or GraphQL?", "REST.")
    assert ok(tmp_workspace, "stop", "--summary", summary) == (
        "Session saved.\n"
        "\n"
        'Conversation "API Design Discussion" has been paused.\n'
        "You can continue later with /workspace.resume\n"
        "\n"
        f"Summary: {summary}\n"
    )
    begin(
        tmp_workspace, "debug", "Login", "Why does the login fail after an hour?", "Tokens expire."
    )
    made = ok(tmp_workspace, "stop").splitlines()[-1]
    assert made.startswith("Summary: ")
    assert "login fail" in made
