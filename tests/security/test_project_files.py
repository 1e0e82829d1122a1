"""Settings of tools in a folder that somebody else made: they hang nothing, and nothing is lost."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from cortext.tools.mcp_server_names import mcp_servers
from tests.command import cortext, head_of, ok
from tests.homes import Homes, lay_out, move_project, said

ID, TURNS = said("claude")
LARGE = 50_000_000
HOSTILE = {
    "strings": '{"a": "' + '\\"' * 150_000,
    "comments": "/*" * 150_000,
    "commas": "[" + ", " * 150_000,
    "brackets": "[" * 300_000,
    "many servers": json.dumps({"mcpServers": {f"s{n}": {} for n in range(40_000)}}),
}
TOML = {
    "key": "a." * 100_000 + "b = 1",
    "brackets": "a = " + "[" * 100_000,
    "strings": 'a = "' + '\\"' * 100_000,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def project_homes(tmp_path: Path, project: Path) -> Homes:
    homes = lay_out(tmp_path / "person")
    move_project(homes, project)
    return homes


@pytest.fixture
def env(tmp_path: Path, project_homes: Homes) -> Mapping[str, str]:
    """A person with Claude Code."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\nread line\n", encoding="utf-8")
    (programs / "claude").chmod(0o755)
    return {**project_homes.environment, "PATH": f"{programs}:{os.defpath}", "CI": "true"}


def use_everything(project: Path, env: Mapping[str, str]) -> str:
    """Import a session of the tool, resume it and stop it; what was said on the way."""
    ok(project, "init", env=env)
    done = cortext(project, "import", ID, env=env)
    assert done.returncode == 0, done.stderr
    key = done.stdout.strip().removeprefix("imported: ")
    printed = cortext(project, "resume", key, "--print", "--write", env=env)
    assert f"claude --resume {ID}" in printed.stdout, printed.stderr
    briefed = cortext(project, "resume", key, env=env)
    assert TURNS[0][1].split("\n")[0][:40] in briefed.stdout, briefed.stderr
    stopped = cortext(project, "stop", key, env=env)
    assert stopped.returncode == 0, stopped.stderr
    assert head_of(project, key)["status"] == "paused"
    return done.stderr + printed.stderr


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_mcp_json_hangs_no_command(
    project: Path, env: Mapping[str, str], text: str
) -> None:
    (project / ".mcp.json").write_text(text, encoding="utf-8")
    use_everything(project, env)


def test_too_large_mcp_json_is_reported_and_ignored(project: Path, env: Mapping[str, str]) -> None:
    path = project / ".mcp.json"
    path.write_text('{"a": "' + '\\"' * (LARGE // 2), encoding="utf-8")
    said = use_everything(project, env)
    assert f"skipped {path}: larger than 1,048,576 bytes" in said


def test_pipe_in_place_of_mcp_json_hangs_no_command(project: Path, env: Mapping[str, str]) -> None:
    os.mkfifo(project / ".mcp.json")
    use_everything(project, env)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("claude", ".mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("opencode", "opencode.json"),
        ("opencode", "opencode.jsonc"),
    ],
)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_project_settings_yield_at_most_1000_servers(
    project: Path, tool: str, name: str, text: str
) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text, encoding="utf-8")
    assert len(mcp_servers(tool, str(project))) <= 1000


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_hostile_project_toml_yields_no_servers(project: Path, text: str) -> None:
    (project / ".codex").mkdir()
    (project / ".codex/config.toml").write_text(text, encoding="utf-8")
    assert mcp_servers("codex", str(project)) == []


def test_jsonc_settings_with_comments_and_trailing_commas_are_read(project: Path) -> None:
    text = '{ // one\n "mcp": {"a//b": {}, /* two */ "c\\"d": {"x": [1,],},},\n}'
    (project / "opencode.jsonc").write_text(text, encoding="utf-8")
    assert mcp_servers("opencode", str(project)) == ["a//b", 'c"d']
