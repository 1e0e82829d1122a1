"""Agents: which there are, and what their files may say."""

import logging
import os
from pathlib import Path

import pytest

from cortext import paths
from cortext.features.spawn.agent_definitions import (
    Agent,
    UnknownAgentError,
    agent_of,
    find_agents,
    get_agent,
)

QA = """---
name: qa-test
description: "Looks for what breaks."
tool: codex
model: m-1
---

Test.
"""


@pytest.fixture
def agent_workspace(tmp_path: Path) -> Path:
    (tmp_path / "w/.workspace").mkdir(parents=True)
    (tmp_path / "w/deep/er").mkdir(parents=True)
    return tmp_path / "w"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_agent_file_is_split_into_front_matter_and_prompt(agent_workspace: Path) -> None:
    """Front matter and prompt are told apart; quotes are no part of a value."""
    path = write(agent_workspace / ".workspace/agents", "a.md", QA)
    agent = get_agent("qa-test", str(agent_workspace / "deep/er"))
    assert agent[:4] == ("qa-test", "Test.", str(path), "Looks for what breaks.")
    assert agent[4:] == ("codex", "m-1", "codex")


def test_agent_file_without_front_matter_is_all_prompt(agent_workspace: Path) -> None:
    """It is called like its file, and all of it is the prompt."""
    write(agent_workspace / ".workspace/agents", "architect.md", "Think.\n---\nname: no\n---\n")
    agent = get_agent("architect", str(agent_workspace))
    assert (agent.prompt, agent.tool) == ("Think.\n---\nname: no\n---", "")


def test_workspace_agent_overrides_project_and_user_agent(agent_workspace: Path) -> None:
    """The workspace's before the project's, that before the person's; each is found."""
    for folder, text in (
        (agent_workspace / ".workspace/agents", "workspace"),
        (agent_workspace / ".claude/agents", "project"),
        (Path(paths.aurora_home(), "agents"), "person"),
    ):
        for name in {"workspace": "a", "project": "ab", "person": "abc"}[text]:
            write(folder, f"{name}.md", text)
    agents = find_agents(str(agent_workspace / "deep"))
    assert {name: agent.prompt for name, agent in agents.items()} == {
        "a": "workspace",
        "b": "project",
        "c": "person",
        "default": "",
    }


def test_find_agents_reads_only_nearest_claude_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the nearest folder of the project is looked at."""
    write(tmp_path / ".claude/agents", "far.md", "far")
    near = tmp_path / "p"
    write(near / ".claude/agents", "near.md", "near")
    assert list(find_agents(str(near))) == ["default", "near"]


def test_default_agent_always_exists(agent_workspace: Path) -> None:
    """Without a prompt, unless somebody wrote one."""
    assert get_agent("default", str(agent_workspace)).prompt == ""
    write(agent_workspace / ".workspace/agents", "default.md", "Be brief.")
    assert get_agent("default", str(agent_workspace)).prompt == "Be brief."


def test_unknown_agent_error_names_available_agents(agent_workspace: Path) -> None:
    """The error names those that there are."""
    write(agent_workspace / ".workspace/agents", "a.md", QA)
    with pytest.raises(UnknownAgentError, match="unknown agent nobody") as caught:
        get_agent("nobody", str(agent_workspace))
    assert caught.value.hint.startswith(
        "available agents: default, qa-test; agents are markdown files in "
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bytes.md", b"\xff\xfe"),
        ("open.md", "---\nname: x\n"),
        ("bad.md", "---\nname: ../x\n---\n"),
        ("a b.md", "text"),
        ("big.md", "x" * 1_000_001),
    ],
)
def test_find_agents_warns_of_invalid_file_and_finds_others(
    name: str, content: str | bytes, agent_workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no agent, it is said which, and the others are there."""
    folder = agent_workspace / ".workspace/agents"
    write(folder, "a.md", QA)
    path = write(folder, name, content)
    with caplog.at_level(logging.WARNING, "cortext.features"):
        assert list(find_agents(str(agent_workspace))) == ["default", "qa-test"]
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]


def test_agent_of_session_warns_when_agent_is_gone(agent_workspace: Path) -> None:
    """One that is not here any more has a name and no prompt, and that is said."""
    write(agent_workspace / ".workspace/agents", "a.md", "You are a.")
    assert agent_of("a", str(agent_workspace)) == (get_agent("a", str(agent_workspace)), "")
    assert agent_of("", str(agent_workspace))[0].name == "default"
    agent, warning = agent_of("gone", str(agent_workspace))
    assert (agent, "the agent gone does not exist" in warning) == (Agent("gone", "", ""), True)


def test_find_agents_skips_pipe_folder_and_broken_link(
    agent_workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A pipe does not hold us up, nor does a folder or a link that leads nowhere."""
    folder = agent_workspace / ".workspace/agents"
    folder.mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "link.md").symlink_to("nowhere")
    assert list(find_agents(str(agent_workspace))) == ["default"]
    assert len(caplog.records) == 3


@pytest.mark.parametrize("tool", ["/bin/sh", "sh -c 'touch x'", "echo", "./x"])
def test_agent_file_cannot_name_program_as_tool(
    tool: str, agent_workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its tool is one of the four or none: a workspace is not ours."""
    write(agent_workspace / ".workspace/agents", "a.md", f"---\ntool: {tool}\n---\nx")
    assert get_agent("a", str(agent_workspace)).tool == ""
    assert "one of claude" in caplog.text


@pytest.mark.parametrize(
    ("folder", "head", "model"),
    [
        (".claude/agents", "model: sonnet", ("sonnet", "claude")),
        (".claude/agents", "model: inherit", ("", "")),
        (".claude/agents", "tool: codex\nmodel: m-1", ("m-1", "codex")),
        (".workspace/agents", "model: sonnet", ("", "")),
    ],
)
def test_agent_model_applies_only_to_named_tool(
    folder: str, head: str, model: tuple[str, str], agent_workspace: Path
) -> None:
    """Claude Code's files name its models; elsewhere a model without a tool says nothing."""
    write(agent_workspace / folder, "a.md", f"---\n{head}\n---\nx")
    agent = get_agent("a", str(agent_workspace))
    assert (agent.model, agent.model_of) == model
