"""Conversations that are found and resumed: SESS-003 and SESS-004, through the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.list_terminal import terminal
from tests.command import begin, change_head, cortext, head_of, ok

COMMANDS = ".workspace/commands"


def two(workspace: Path) -> tuple[str, str]:
    """The two conversations of the specification's example, the second one the latest."""
    api = begin(workspace, "brainstorm", "API Design Discussion", "REST or GraphQL?", "REST.")
    ok(workspace, "stop", "--summary", "Exploring REST vs GraphQL, leaning toward REST")
    auth = begin(workspace, "debug", "Auth Token Expiry Issue", "Why does the token expire?")
    change_head(workspace, auth, context_summary="Identified race condition in token refresh")
    return api, auth


def test_list_resumable_conversations_in_the_agent(tmp_workspace: Path) -> None:
    """Resume Command: List resumable conversations"""
    two(tmp_workspace)
    told = ok(tmp_workspace, "slash", "list")
    assert told.endswith(
        "Here are your resumable conversations:\n\n"
        "1. [debug] Auth Token Expiry Issue\n"
        "   Last active: just now | Status: active\n"
        "   Summary: Identified race condition in token refresh\n\n"
        "2. [brainstorm] API Design Discussion\n"
        "   Last active: just now | Status: paused\n"
        "   Summary: Exploring REST vs GraphQL, leaning toward REST\n\n"
        "Which conversation would you like to continue? (number or search)\n"
    )
    assert ok(tmp_workspace, "resume").splitlines() == [
        "1. [debug] Auth Token Expiry Issue",
        "   002-debug-auth-token-expiry-issue | Last active: just now | Status: active",
        "   Summary: Identified race condition in token refresh",
        "2. [brainstorm] API Design Discussion",
        "   001-brainstorm-api-design-discussion | Last active: just now | Status: paused",
        "   Summary: Exploring REST vs GraphQL, leaning toward REST",
    ]


def test_resume_by_selection(tmp_workspace: Path) -> None:
    """Resume Command: Resume by selection"""
    api, auth = two(tmp_workspace)
    number = [row["id"] for row in json.loads(ok(tmp_workspace, "resume", "--list", "--json"))]
    assert number == [auth, api]
    for words in (["token", "expiry"], ["graphql"]):
        out = ok(tmp_workspace, "resume", *words, "--context")
        assert out.count("[RESUMED CONVERSATION]\n") == 1
    shown = terminal(tmp_workspace, ["resume", "--list"], ["resume", "2", "--context"])
    assert "Conversation: brainstorm / API Design Discussion\n" in shown.text
    ok(tmp_workspace, "slash", "list")
    briefing = ok(tmp_workspace, "slash", "briefing", "1")
    assert "Conversation: debug / Auth Token Expiry Issue\n" in briefing
    assert "| Why does the token expire?" in briefing
    out = ok(tmp_workspace, "resume", "graphql")
    assert "Conversation: brainstorm / API Design Discussion\n" in out
    assert "| REST or GraphQL?" in out
    assert head_of(tmp_workspace, api)["status"] == "active"


def test_command_loading_on_resume(tmp_workspace: Path) -> None:
    """Resume Command: Command loading on resume"""
    api, _ = two(tmp_workspace)
    assert head_of(tmp_workspace, api)["agent_config"]["command"] == "/workspace.brainstorm"
    out = ok(tmp_workspace, "resume", api, "--context")
    command = (tmp_workspace / COMMANDS / "brainstorm.md").read_text(encoding="utf-8")
    assert out.startswith(command)
    assert len(command) < out.index("[RESUMED CONVERSATION]") < out.index("| REST or GraphQL?")


def test_context_injection_on_resume(tmp_workspace: Path) -> None:
    """Resume Command: Context injection on resume"""
    api, _ = two(tmp_workspace)
    out = ok(tmp_workspace, "resume", api, "--context")
    assert (
        "[RESUMED CONVERSATION]\n"
        "You are continuing a previous conversation.\n"
        "\n"
        "Conversation: brainstorm / API Design Discussion\n"
        "Last active: just now\n"
        "Messages: 1 exchanges\n"
        "Summary: Exploring REST vs GraphQL, leaning toward REST\n"
        "\n"
        "Previous context is loaded. The user expects you to continue where you left off.\n"
        "Review the conversation history and pick up naturally.\n"
        "[END RESUMED CONTEXT]\n"
    ) in out
    history = out[out.index("[END RESUMED CONTEXT]") :]
    assert history.index("| REST or GraphQL?") < history.index("| REST.")


def test_command_prompt_changes_since_original_conversation(tmp_workspace: Path) -> None:
    """Resume Command: Command prompt changes since original conversation"""
    api, _ = two(tmp_workspace)
    assert (
        "instructions have changed" not in cortext(tmp_workspace, "resume", api, "--context").stderr
    )
    (tmp_workspace / COMMANDS / "brainstorm.md").write_text("A new method.\n", encoding="utf-8")
    done = cortext(tmp_workspace, "resume", api)
    assert done.stdout.startswith("A new method.\n")
    assert "warning: the agent's instructions have changed" in done.stderr
    assert "instructions have changed" not in cortext(tmp_workspace, "resume", api).stderr


def test_no_resumable_conversations(tmp_workspace: Path) -> None:
    """Resume Command: No resumable conversations"""
    done = cortext(tmp_workspace, "resume")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no resumable conversations\n")
    assert "cortext new" in done.stderr
    told = ok(tmp_workspace, "slash", "list")
    assert told.startswith("There are no resumable conversations. Tell the person so")
    assert "suggest starting one, for example with `/workspace.brainstorm`" in told


def test_resume_by_conversation_id(
    tmp_workspace: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI Resume Support: Resume by conversation ID"""
    begin(tmp_workspace, "brainstorm", "topic", "What was the topic?")
    ok(tmp_workspace, "stop")
    out = ok(tmp_workspace, "resume", "001-brainstorm-topic")
    assert "Conversation: brainstorm / topic\n" in out
    assert "| What was the topic?" in out
    assert cortext(tmp_workspace, "resume", "001-brainstorm-nothing-like-it").returncode == 3
    programs = tmp_path_factory.mktemp("programs")
    (programs / "claude").write_text('#!/bin/sh\necho "called with $*"\n', encoding="utf-8")
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(programs / "kept"))
    called = terminal(tmp_workspace, ["resume", "001-brainstorm-topic"]).text
    session = called.split("called with --resume ")[1].split()[0]
    (transcript,) = programs.glob(f"kept/projects/*/{session}.jsonl")
    assert "What was the topic?" in transcript.read_text(encoding="utf-8")


def test_resume_by_search(tmp_workspace: Path) -> None:
    """CLI Resume Support: Resume by search"""
    api, _ = two(tmp_workspace)
    begin(tmp_workspace, "plan", "Billing", "How do we bill?")
    ok(tmp_workspace, "stop", "003", "--summary", "The api design is done, and pricing is next")
    assert "API Design Discussion" in ok(tmp_workspace, "resume", "design discussion", "--context")
    assert "plan / Billing" in ok(tmp_workspace, "resume", "pricing next", "--context")
    several = cortext(tmp_workspace, "resume", "api design", "--context")
    assert (several.returncode, several.stdout) == (4, "")
    assert all(id in several.stderr for id in (api, "003-plan-billing"))
    asked = terminal(tmp_workspace, ["resume", "api design", "--context"], answers=["billing"])
    assert "Which conversation? (number, or words of the title; q to quit): " in asked.text
    assert "Conversation: plan / Billing\n" in asked.text


def test_list_resumable_conversations(tmp_workspace: Path) -> None:
    """CLI Resume Support: List resumable conversations"""
    api, auth = two(tmp_workspace)
    begin(tmp_workspace, "plan", "Done", "We are done.")
    ok(tmp_workspace, "done", "003")
    rows = json.loads(ok(tmp_workspace, "resume", "--list", "--json"))
    keys = ("id", "type", "title", "status")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("003-plan-done", "plan", "Done", "completed"),
        (auth, "debug", "Auth Token Expiry Issue", "active"),
        (api, "brainstorm", "API Design Discussion", "paused"),
    ]
    times = [row["last_active"] for row in rows]
    assert times == sorted(times, reverse=True)
