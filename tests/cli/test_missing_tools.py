"""Tools that a conversation had and that are missing where it goes on."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cortext.tools.mcp_server_names import mcp_servers
from tests.cli.tool_workspace import Place
from tests.command import SCRIPT, change_head, cortext

HAD = ["Bash", "mcp__tracker__find", "mcp__notes", "mcp__ide__run", "mcp_my_box_read"]
WARNING = "tools of this conversation that are missing now: "
INSIDE = {
    "claude": {"CLAUDE_CODE_SESSION_ID": "11111111-2222-4333-8444-555555555555"},
    "codex": {"CODEX_THREAD_ID": "11111111-2222-4333-8444-555555555555"},
    "gemini": {"GEMINI_CLI": "1"},
    "opencode": {"OPENCODE": "1"},
}


@pytest.fixture
def missing_tools_place(tmp_path: Path) -> Place:
    """A conversation with a tool of Claude Code, two MCP tools, an unused MCP server, and a tool of
    an editor, which no file configures."""
    place = Place(tmp_path)
    change_head(place.root, place.key, agent_config={"agent": "claude", "tools": HAD})
    return place


def missing(place: Place, *words: str) -> str:
    done = cortext(place.root, "resume", place.key, *words, env=place.env)
    assert done.returncode == 0, done.stderr
    return next((line.partition(WARNING)[2] for line in said(done.stderr) if WARNING in line), "")


def said(text: str) -> list[str]:
    return text.split("\n")


def configure(place: Place, tool: str, *servers: str) -> None:
    """As a person has these servers."""
    home = Path(place.env["HOME"])
    if tool == "codex":
        tables = [f'[mcp_servers."{name}"]\ncommand = "x"\n' for name in servers]
        (home / ".codex/config.toml").write_text("".join(tables), encoding="utf-8")
        return
    entries = {name: {"command": "x"} for name in servers}
    name, key = {
        "claude": (".claude.json", "mcpServers"),
        "gemini": (".gemini/settings.json", "mcpServers"),
        "opencode": (".config/opencode/opencode.json", "mcp"),
    }[tool]
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(json.dumps({key: entries}), encoding="utf-8")


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_resume_with_tool_option_warns_about_missing_servers_and_tools(
    missing_tools_place: Place, tool: str
) -> None:
    start = ("--tool", tool, "--print", "--write")
    assert missing(missing_tools_place, *start) == "mcp__tracker__find, mcp__notes, mcp_my_box_read"
    configure(missing_tools_place, tool, "my box")
    assert missing(missing_tools_place, *start) == "mcp__tracker__find, mcp__notes"
    configure(missing_tools_place, tool, "tracker", "my box", "notes")
    assert missing(missing_tools_place, *start) == ""


@pytest.mark.parametrize("tool", [*INSIDE])
@pytest.mark.parametrize("command", [["slash", "briefing"], ["resume"]])
def test_resume_inside_tool_warns_about_missing_servers(
    missing_tools_place: Place, tool: str, command: list[str]
) -> None:
    config = {"XDG_CONFIG_HOME": str(Path(missing_tools_place.env["HOME"]) / ".config")}
    env = {**missing_tools_place.env, **config, **INSIDE[tool]}
    configure(missing_tools_place, tool, "my box", "notes")
    done = cortext(missing_tools_place.root, *command, missing_tools_place.key, env=env)
    told = done.stdout if command[0] == "slash" else done.stderr
    assert f"arning: {WARNING}mcp__tracker__find\n" in told


def test_resume_without_tool_warns_about_servers_no_tool_has(missing_tools_place: Place) -> None:
    change_head(missing_tools_place.root, missing_tools_place.key, native=[])
    configure(missing_tools_place, "codex", "tracker")
    configure(missing_tools_place, "claude", "notes")
    assert missing(missing_tools_place, "--context") == "mcp_my_box_read"


def test_resume_of_foreign_tool_session_warns_about_missing_tools(
    missing_tools_place: Place,
) -> None:
    """A session of Claude Code that is no conversation yet, resumed in Codex."""
    path = missing_tools_place.homes.transcript("claude")
    lines = path.read_text(encoding="utf-8").replace('"name":"Read"', '"name":"mcp__tracker__find"')
    assert lines != path.read_text(encoding="utf-8")
    path.write_text(lines, encoding="utf-8")
    missing_tools_place.ok("delete", missing_tools_place.key, "--yes")
    done = cortext(
        missing_tools_place.root,
        "resume",
        path.stem,
        "--tool",
        "codex",
        "--print",
        "--write",
        env=missing_tools_place.env,
    )
    assert f"warning: {WARNING}mcp__tracker__find\n" in done.stderr


def test_session_written_for_codex_contains_missing_tools_warning(
    missing_tools_place: Place,
) -> None:
    done = cortext(
        missing_tools_place.root,
        "resume",
        missing_tools_place.key,
        "--tool",
        "codex",
        "--print",
        "--write",
        env=missing_tools_place.env,
    )
    assert done.returncode == 0, done.stderr
    written = max(
        Path(missing_tools_place.env["HOME"]).rglob("rollout-*.jsonl"), key=os.path.getmtime
    )
    assert f"Warning: {WARNING}mcp__tracker__find" in written.read_text(encoding="utf-8")


def test_slash_briefing_works_in_deleted_current_folder(missing_tools_place: Place) -> None:
    """An agent may have deleted the folder that it is in: it gets its briefing all the same."""
    env = {
        **missing_tools_place.env,
        "CLAUDE_CODE_SESSION_ID": "11111111-2222-4333-8444-555555555555",
    }
    gone = missing_tools_place.root / "gone"
    gone.mkdir()
    done = subprocess.run(
        [
            "sh",
            "-c",
            'rmdir "$PWD" && exec "$@"',
            "",
            SCRIPT,
            "slash",
            "briefing",
            missing_tools_place.key,
        ],
        cwd=gone,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"The ID of this conversation: {missing_tools_place.key}" in said(done.stdout)


def test_tools_option_is_compared_in_any_spelling_of_server_and_tool(
    missing_tools_place: Place,
) -> None:
    """Compared as server and tool, however each of them writes it."""
    has = "Bash, Read, tracker_find, notes, mcp_ide_run, mcp__other__x"
    assert missing(missing_tools_place, "--context", "--tools", has) == "mcp_my_box_read"
    has = "Bash, mcp__tracker__find, notes_list, mcp__ide__run, my_box_read"
    assert missing(missing_tools_place, "--context", "--tools", has) == ""


def test_mcp_servers_reads_project_files_up_to_repository_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the folders up to the repository's root, and none that is turned off."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    inner = tmp_path / "project/inner"
    files = {
        ".mcp.json": {"mcpServers": {"beyond": {}}},
        "project/.git/x.json": {},
        "project/.mcp.json": {"mcpServers": {"outer": {}}},
        "project/inner/.mcp.json": {"mcpServers": {"inner": {}}},
        "project/opencode.json": {"mcp": {"on": {"enabled": True}, "off": {"enabled": False}}},
        ".gemini/extensions/one/gemini-extension.json": {"mcpServers": {"brought": {}}},
    }
    for name, value in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
    config = inner / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('[mcp_servers.ours]\ncommand = "x"\n', encoding="utf-8")
    found = {tool: mcp_servers(tool, str(inner)) for tool in ("claude", "opencode", "gemini")}
    assert found == {"claude": ["inner", "outer"], "opencode": ["on"], "gemini": ["brought"]}
    assert mcp_servers("codex", str(inner)) == ["ours"]
    assert mcp_servers("claude", str(tmp_path)) == ["beyond"]
    monkeypatch.chdir(inner)
    assert {tool: mcp_servers(tool, "") for tool in (*found, "codex")} == {
        "claude": [], "opencode": [], "gemini": ["brought"], "codex": [],
    }  # fmt: skip
