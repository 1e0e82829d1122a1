"""The life of a conversation, and git: SESS-005 and SESS-006, through the command line."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.command import begin, change_head, cortext, git, head_of, ok, say


def test_status_transitions(workspace: Path) -> None:
    """Session Lifecycle Management: Status transitions"""
    id = begin(workspace, "plan", "Launch", "When?")
    seen = [head_of(workspace, id)["status"]]
    for command in ("stop", "resume", "stop", "done"):
        ok(workspace, command, id)
        seen.append(head_of(workspace, id)["status"])
    assert seen == ["active", "paused", "active", "paused", "completed"]
    refused = cortext(workspace, "stop", id)
    assert refused.returncode == 1
    assert "a conversation cannot go from completed to paused" in refused.stderr
    assert f"hint: `cortext resume {id} --reopen` goes on with it" in refused.stderr
    assert head_of(workspace, id)["status"] == "completed"


def test_auto_pause_on_inactivity(workspace: Path) -> None:
    """Session Lifecycle Management: Auto-pause on inactivity"""
    id = begin(workspace, "plan", "Launch")
    rested = datetime.now(UTC) - timedelta(minutes=6)
    change_head(workspace, id, last_active=rested.isoformat())
    first, second = cortext(workspace, "resume", "--list"), cortext(workspace, "resume", "--list")
    assert "Status: paused" in first.stdout
    paused_at = rested + timedelta(minutes=5)
    assert f'"Launch" was auto-saved and paused at {paused_at:%H:%M}\n' in first.stderr
    assert "auto-saved" not in second.stderr
    assert head_of(workspace, id)["status"] == "paused"
    longer = {"CORTEXT_SESSIONS_PAUSE_MINUTES": "10"}
    assert "Status: active" in ok(workspace, "resume", "--list", env=longer)
    say(workspace, id, "I am back.")
    assert "Status: active" in ok(workspace, "resume", "--list")


def test_completed_conversations(workspace: Path) -> None:
    """Session Lifecycle Management: Completed conversations"""
    id = begin(workspace, "plan", "Launch", "When?")
    ok(workspace, "done", id)
    refused = cortext(workspace, "resume", id)
    assert (refused.returncode, head_of(workspace, id)["status"]) == (1, "completed")
    assert "was marked complete" in refused.stderr
    assert "hint: `--reopen`" in refused.stderr
    ok(workspace, "resume", id, "--reopen")
    assert head_of(workspace, id)["status"] == "active"


@pytest.mark.usefixtures("git_identity")
def test_session_committed_with_conversation(workspace: Path) -> None:
    """Git Integration for Sessions: Session committed with conversation"""
    git(workspace, "init", "-q")
    id = begin(workspace, "brainstorm", "Topic", "Hello", "Hi")
    ok(workspace, "stop")
    day = next(p.name for p in (workspace / "conversations").iterdir() if p.name[0].isdigit())
    folder = f"conversations/{day}/{id}"
    assert git(workspace, "show", "--name-only", "--format=%s").splitlines() == [
        "Save session state: Topic",
        "",
        f"{folder}/.session/messages.jsonl",
        f"{folder}/.session/session.json",
        f"{folder}/brainstorm.md",
    ]
    assert git(workspace, "status", "--short", folder) == ""


@pytest.mark.usefixtures("git_identity")
def test_session_only_updates(workspace: Path) -> None:
    """Git Integration for Sessions: Session-only updates"""
    git(workspace, "init", "-q")
    id = begin(workspace, "brainstorm", "Topic", "Hello", "Hi")
    ok(workspace, "stop")
    ok(workspace, "resume", id)
    say(workspace, id, "One thing more.")
    ok(workspace, "stop")
    assert git(workspace, "log", "-1", "--format=%s").startswith("session update: ")
    names = git(workspace, "show", "--name-only", "--format=").split()
    assert {Path(name).name for name in names} == {"session.json", "messages.jsonl"}
