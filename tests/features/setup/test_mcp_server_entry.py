"""The entry of our MCP server in the settings of the tools."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.json_edit import insert, parse
from cortext.tools import settings_files
from tests.command import cortext, ok

FILES = {
    "claude": ".claude.json",
    "opencode": ".config/opencode/opencode.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
CALL = {"command": "cortext", "args": ["mcp"]}


def read(person: Path, tool: str) -> dict[str, object]:
    text = (person / FILES[tool]).read_text(encoding="utf-8")
    return tomllib.loads(text) if tool == "codex" else parse(text).plain


def put(person: Path, tool: str, text: str) -> Path:
    path = person / FILES[tool]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_setup_adds_server_entry_to_each_tool_and_uninstall_removes_entry(
    person_home: Path,
) -> None:
    """Where each looks for a person's servers; nothing is left of files that were made for it."""
    ok(person_home, "setup", "--tools", "claude,opencode,gemini,codex", "--yes")
    assert read(person_home, "claude")["mcpServers"] == {"cortext": {"type": "stdio", **CALL}}
    local = {"type": "local", "command": ["cortext", "mcp"], "enabled": True}
    assert read(person_home, "opencode") == {"mcp": {"cortext": local}}
    assert read(person_home, "gemini")["mcpServers"] == {"cortext": CALL}
    assert read(person_home, "codex")["mcp_servers"] == {"cortext": CALL}
    ok(person_home, "uninstall", "--yes")
    assert [path for path in person_home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("claude", '{\n\t"numStartups": 7, // x\n\t"mcpServers": {"a": {"url": "u"}}\n}'),
        ("opencode", '{"$schema":"https://opencode.ai/config.json","mcp":{}}'),
        ("gemini", '{ "mcpServers": {\n    "a": {"command": "b"} } }\r\n'),
        ("codex", '# mine\nmodel = "m"\n[mcp_servers.a]\ncommand = "b"'),
        ("codex", 'model = "m"\r\n\r\n[projects."/x"]\r\ntrust_level = "trusted"\r\n'),
    ],
)
def test_uninstall_restores_settings_bytes_around_server_entry(
    person_home: Path, tool: str, text: str
) -> None:
    """Also where another server is, and after the record of what we did is lost."""
    path = put(person_home, tool, text)
    before = path.read_bytes()
    ok(person_home, "setup", "--tools", tool, "--yes")
    assert b"cortext" in path.read_bytes()
    assert "Nothing to do" in ok(person_home, "setup", "--tools", tool, "--yes")
    ok(person_home, "uninstall", "--tools", tool, "--yes")
    assert path.read_bytes() == before


def test_uninstall_removes_server_entry_reformatted_by_tool(person_home: Path) -> None:
    """Claude Code writes its file again and again, in its own form."""
    path = put(person_home, "claude", '{"numStartups": 1}')
    ok(person_home, "setup", "--tools", "claude", "--yes")
    now = {**json.loads(path.read_bytes()), "numStartups": 2}
    path.write_text(json.dumps(now, indent=4), encoding="utf-8")
    ok(person_home, "uninstall", "--tools", "claude", "--yes")
    assert json.loads(path.read_bytes()) == {"numStartups": 2}


@pytest.mark.parametrize(
    ("tool", "old", "new"),
    [
        ("gemini", '"mcp"\n', '"mcp"\n'),
        ("codex", "[mcp_servers.cortext]\n", "[mcp_servers.cortext]\nstartup_timeout_sec = 30\n"),
        (
            "codex",
            'args = ["mcp"]\n',
            'args = ["mcp"]\n\n[mcp_servers.cortext.tools.search_workspace]\napproval_mode = "a"\n',
        ),
        ("gemini", '"command": "cortext",', '"trust": true, "command": "cortext",'),
    ],
)
def test_uninstall_removes_options_added_to_server_entry(
    person_home: Path, tool: str, old: str, new: str
) -> None:
    """Tools write there what a person allows; nothing of it may end up in another table."""
    text = 'model = "m"\n\n[t]\na = 1\n' if tool == "codex" else '{\n  "a": {\n    "b": 1\n  }\n}\n'
    path = put(person_home, tool, text)
    ok(person_home, "setup", "--tools", tool, "--yes")
    noted = path.read_text(encoding="utf-8").replace(old, new) + ("\n[z]\n" * (tool == "codex"))
    path.write_text(noted, encoding="utf-8")
    ok(person_home, "uninstall", "--tools", tool, "--yes")
    left = read(person_home, tool)
    assert left == ({"model": "m", "t": {"a": 1}, "z": {}} if tool == "codex" else {"a": {"b": 1}})


@pytest.mark.parametrize("tool", ["claude", "gemini", "codex"])
def test_setup_and_uninstall_keep_user_server_named_cortext(person_home: Path, tool: str) -> None:
    """It is neither changed nor removed."""
    mine = '[mcp_servers.cortext]\ncommand = "mine"\n'
    if tool != "codex":
        mine = '{"mcpServers": {"cortext": {"command": "mine"}}}'
    put(person_home, tool, mine)
    for command in ("setup", "uninstall"):
        ok(person_home, command, "--tools", tool, "--yes")
        assert '"mine"' in (person_home / FILES[tool]).read_text(encoding="utf-8")
        assert "args" not in (person_home / FILES[tool]).read_text(encoding="utf-8")


def test_setup_adds_hooks_when_server_entry_cannot_be_added(person_home: Path) -> None:
    put(person_home, "gemini", '{"mcpServers": []}')
    put(person_home, "codex", "mcp_servers = {a = {command = 'b'}}\n")
    ok(person_home, "setup", "--tools", "gemini,codex", "--yes")
    assert read(person_home, "gemini")["mcpServers"] == []
    hooks = settings_files.hooks_file("gemini")
    assert hooks
    assert hooks.has_hooks((person_home / FILES["gemini"]).read_text("utf-8"))
    config = read(person_home, "codex")
    assert (config["notify"], config["mcp_servers"]) == (
        ["cortext", "hook", "codex", "notify"],
        {"a": {"command": "b"}},
    )


def test_setup_leaves_invalid_json_settings_unchanged(person_home: Path) -> None:
    path = put(person_home, "claude", '{"a": ')
    done = cortext(person_home, "setup", "--tools", "claude", "--yes")
    assert f"{path} is not changed: not JSON" in done.stderr
    assert path.read_text(encoding="utf-8") == '{"a": '


def test_setup_dry_run_shows_server_entry_and_changes_nothing(person_home: Path) -> None:
    put(person_home, "claude", '{\n  "a": 1\n}\n')
    shown = ok(person_home, "setup", "--tools", "claude", "--dry-run")
    assert '+    "cortext": {' in shown
    assert '+      "command": "cortext",' in shown
    assert (person_home / ".claude.json").read_text(encoding="utf-8") == '{\n  "a": 1\n}\n'


@given(
    st.dictionaries(
        st.sampled_from(["model", "x-1", "z"]), st.text("ab\"\\\n'é", max_size=5), max_size=3
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_removing_server_entry_restores_any_toml(
    values: dict[str, str], newline: str, ends: bool
) -> None:
    lines = [*(f"{key} = {json.dumps(value)}" for key, value in values.items()), "[t]", "a = 1"]
    text = newline.join(lines) + (newline if ends else "")
    file = settings_files.server_file("codex")
    assert file
    assert file.entry
    new = insert(text, file.entry.insertions(text))
    assert file.entry.find(new) is not None
    assert tomllib.loads(new) == {**tomllib.loads(text), "mcp_servers": {"cortext": CALL}}
    assert file.entry.remove(new).rstrip("\r\n") == text.rstrip("\r\n")
