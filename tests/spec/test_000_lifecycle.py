"""The life of a conversation, and git: SESS-005 and SESS-006, through the command line."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.command import begin, change_head, cortext, git, head_of, ok, say


def test_status_transitions(tmp_workspace: Path) -> None:
    """Session Lifecycle Management: Status transitions"""
    id = begin(tmp_workspace, "plan", "Launch", "When?")
    seen = [head_of(tmp_workspace, id)["status"]]
    for command in ("stop", "resume", "stop", "done"):
        ok(tmp_workspace, command, id)
        seen.append(head_of(tmp_workspace, id)["status"])
    assert seen == ["active", "paused", "active", "paused", "completed"]
    refused = cortext(tmp_workspace, "stop", id)
    assert refused.returncode == 1
    assert "a conversation cannot go from completed to paused" in refused.stderr
    assert f"hint: `cortext resume {id} --reopen` continues it" in refused.stderr
    assert head_of(tmp_workspace, id)["status"] == "completed"


def test_auto_pause_on_inactivity(tmp_workspace: Path) -> None:
    """Session Lifecycle Management: Auto-pause on inactivity"""
    id = begin(tmp_workspace, "plan", "Launch")
    rested = datetime.now(UTC) - timedelta(minutes=6)
    change_head(tmp_workspace, id, last_active=rested.isoformat())
    first, second = (
        cortext(tmp_workspace, "resume", "--list"),
        cortext(tmp_workspace, "resume", "--list"),
    )
    assert "Status: paused" in first.stdout
    paused_at = rested + timedelta(minutes=5)
    assert f'"Launch" was auto-saved and paused at {paused_at:%H:%M}\n' in first.stderr
    assert "auto-saved" not in second.stderr
    assert head_of(tmp_workspace, id)["status"] == "paused"
    longer = {"CORTEXT_SESSIONS_PAUSE_MINUTES": "10"}
    assert "Status: active" in ok(tmp_workspace, "resume", "--list", env=longer)
    say(tmp_workspace, id, "I am back.")
    assert "Status: active" in ok(tmp_workspace, "resume", "--list")


def test_completed_conversations(tmp_workspace: Path) -> None:
    """Session Lifecycle Management: Completed conversations"""
    id = begin(tmp_workspace, "plan", "Launch", "When?")
    ok(tmp_workspace, "done", id)
    refused = cortext(tmp_workspace, "resume", id)
    assert (refused.returncode, head_of(tmp_workspace, id)["status"]) == (1, "completed")
    assert "was marked complete" in refused.stderr
    assert "hint: `--reopen`" in refused.stderr
    ok(tmp_workspace, "resume", id, "--reopen")
    assert head_of(tmp_workspace, id)["status"] == "active"


@pytest.mark.usefixtures("git_identity")
def test_session_committed_with_conversation(tmp_workspace: Path) -> None:
    """Git Integration for Sessions: Session committed with conversation"""
    git(tmp_workspace, "init", "-q")
    id = begin(tmp_workspace, "brainstorm", "Topic", "Hello", "Hi")
    ok(tmp_workspace, "stop")
    day = next(p.name for p in (tmp_workspace / "conversations").iterdir() if p.name[0].isdigit())
    folder = f"conversations/{day}/{id}"
    assert git(tmp_workspace, "show", "--name-only", "--format=%s").splitlines() == [
        "Save session state: Topic",
        "",
        f"{folder}/.session/messages.jsonl",
        f"{folder}/.session/session.json",
        f"{folder}/brainstorm.md",
    ]
    assert git(tmp_workspace, "status", "--short", folder) == ""


@pytest.mark.usefixtures("git_identity")
def test_session_only_updates(tmp_workspace: Path) -> None:
    """Git Integration for Sessions: Session-only updates"""
    git(tmp_workspace, "init", "-q")
    id = begin(tmp_workspace, "brainstorm", "Topic", "Hello", "Hi")
    ok(tmp_workspace, "stop")
    ok(tmp_workspace, "resume", id)
    say(tmp_workspace, id, "One thing more.")
    ok(tmp_workspace, "stop")
    assert git(tmp_workspace, "log", "-1", "--format=%s").startswith("session update: ")
    names = git(tmp_workspace, "show", "--name-only", "--format=").split()
    assert {Path(name).name for name in names} == {"session.json", "messages.jsonl"}
