"""How tools are started: nothing that somebody else wrote decides more than it may."""

import json
import os
from pathlib import Path

import pytest

from cortext.errors import CortextError
from cortext.tools import transcript_folders
from cortext.tools.launch_plans import ask_plan, fork_plan, has_command, resume_plan
from cortext.tools.registry import tool_names

ID = "11111111-2222-4333-8444-555555555555"


@pytest.mark.parametrize("id", ["--yolo", "-r", "", "a b", "$(touch x)", "../x", "a\nb", "x" * 200])
@pytest.mark.parametrize("tool", tool_names())
def test_launch_plans_reject_invalid_session_ids(tool: str, id: str) -> None:
    """A transcript may call itself anything."""
    for plan in (
        lambda: resume_plan(tool, id, cwd="/"),
        lambda: ask_plan(tool, id, "?", "/", denying=""),
    ):
        with pytest.raises(CortextError):
            plan()
    if tool == "claude":
        with pytest.raises(CortextError):
            fork_plan(tool, id, new=ID, cwd="/")


def test_claude_ask_plan_excludes_project_settings() -> None:
    """Claude Code would run its hooks without asking: there is no terminal."""
    words = ask_plan("claude", ID, "?", "/", denying="").words
    assert words[words.index("--setting-sources") + 1] == "user"


def test_opencode_ask_plan_uses_own_agent_without_permissions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a configuration allows its agents does not hold for this one; theirs stay."""
    theirs = {"agent": {"build": {"tools": {"write": True}}}, "theme": "dark"}
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps(theirs))
    plan = ask_plan("opencode", ID, "?", "/", denying="")
    agent = plan.words[plan.words.index("--agent") + 1]
    config = json.loads(plan.environment["OPENCODE_CONFIG_CONTENT"])
    assert config["agent"][agent]["tools"] == {"*": False}
    assert config["agent"][agent]["permission"] == {"*": "deny"}
    assert (config["agent"]["build"], config["theme"]) == (theirs["agent"]["build"], "dark")
    assert agent != ask_plan("opencode", ID, "?", "/", denying="").words[-1]


@pytest.mark.parametrize("tool", ["claude", "gemini"])
def test_has_command_is_false_when_project_overrides_command(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's own `/workspace.resume` would run in place of the person's: it is not started."""
    monkeypatch.setenv("HOME", str(tmp_path))
    name = "workspace.resume.toml" if tool == "gemini" else "workspace.resume.md"
    project = tmp_path / "project"
    project.mkdir()
    assert not has_command(tool, str(project))
    ours = tmp_path / f".{tool}/commands/{name}"
    ours.parent.mkdir(parents=True)
    ours.write_text("", encoding="utf-8")
    assert has_command(tool, str(project))
    theirs = project / f".{tool}/commands/{name}"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("", encoding="utf-8")
    assert not has_command(tool, str(project))


def test_codex_scan_does_not_follow_linked_folders(tmp_path: Path) -> None:
    """A folder of Codex that links to itself is looked through once."""
    day = tmp_path / "sessions/2026/01/12"
    day.mkdir(parents=True)
    (day / f"rollout-2026-01-12T09-30-00-{ID}.jsonl").write_text("{}\n", encoding="utf-8")
    for name in "abc":
        os.symlink(".", tmp_path / "sessions" / name)
    look = transcript_folders.look("codex", str(tmp_path))
    assert look.names == {f"sessions/2026/01/12/rollout-2026-01-12T09-30-00-{ID}.jsonl"}
