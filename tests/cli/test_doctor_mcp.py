"""`cortext doctor` on the MCP server: its entry in each tool, and whether it starts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.installation import install_command
from tests.command import SCRIPT, cortext, ok
from tests.mcp.tool_names import TOOLS

FOUR = ("claude", "opencode", "gemini", "codex")


@pytest.fixture
def mcp_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody who has the four tools and cortext, and set all of it up."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin/cortext").symlink_to(SCRIPT)
    for tool in FOUR:
        program = home / "bin" / tool
        program.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        program.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("PATH", f"{home}/bin:{os.defpath}")
    ok(home, "setup", "--tools", ",".join(FOUR), "--yes")
    return home


def examined(person: Path) -> tuple[int, dict[str, Any], dict[str, str]]:
    done = cortext(person, "doctor", "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    return done.returncode, found, {tool["tool"]: tool["server"] for tool in found["tools"]}


def put(person: Path, entry: dict[str, Any]) -> None:
    """As the person might have changed it."""
    path = person / ".gemini/settings.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["mcpServers"]["cortext"] = entry
    path.write_text(json.dumps(value), encoding="utf-8")


def test_doctor_starts_mcp_server_and_reports_its_tools(mcp_home: Path) -> None:
    """It is really started, as a tool would, and reads nothing."""
    code, found, servers = examined(mcp_home)
    assert (code, servers) == (0, dict.fromkeys(FOUR, "present"))
    assert found["server"]["package"] is True
    assert (found["server"]["starts"], found["server"]["tools"]) == (True, len(TOOLS))
    assert not os.path.exists(paths.words())
    names = ", ".join(servers)
    assert f"\nMCP server: configured in {names}; it starts and has 7 tools\n" in ok(
        mcp_home, "doctor"
    )


def test_doctor_distinguishes_missing_foreign_disabled_gone_mcp_entries(
    mcp_home: Path,
) -> None:
    """Only a program that is gone is a problem: the rest is a person's choice."""
    (mcp_home / ".codex/config.toml").write_text(
        '[mcp_servers.cortext]\ncommand = "cortext"\nargs = ["mcp"]\nenabled = false\n',
        encoding="utf-8",
    )
    (mcp_home / ".claude.json").write_text("{}", encoding="utf-8")
    put(mcp_home, {"command": "other-memory", "args": ["serve"]})
    _, found, servers = examined(mcp_home)
    assert servers["codex"] == "turned off"
    assert servers["claude"] == "missing"
    assert servers["gemini"] == "another program"
    assert servers["opencode"] == "present"
    assert [each for each in found["problems"] if "MCP" in each["text"]] == []
    said = cortext(mcp_home, "doctor").stdout
    assert "claude: missing (`cortext setup --tools claude`)" in said

    put(mcp_home, {"command": f"{mcp_home}/old/bin/cortext", "args": ["mcp"]})
    code, found, servers = examined(mcp_home)
    assert (code, servers["gemini"]) == (1, "its program is gone")
    (problem,) = [each for each in found["problems"] if "MCP" in each["text"]]
    assert problem["text"].endswith(f"does not exist: {mcp_home}/old/bin/cortext")
    assert f"{mcp_home}/.gemini/settings.json" in problem["hint"]


def test_doctor_names_unreadable_settings_of_mcp_entry(mcp_home: Path) -> None:
    (mcp_home / ".claude.json").write_text("{", encoding="utf-8")
    code, found, servers = examined(mcp_home)
    assert (code, servers["claude"]) == (1, "settings cannot be read")
    assert any(f"{mcp_home}/.claude.json" in each["text"] for each in found["problems"])


def test_doctor_reports_why_mcp_server_does_not_start(mcp_home: Path) -> None:
    """With what it says; it is waited for no longer than it lives."""
    program = mcp_home / "bin/cortext"
    program.unlink()
    program.write_text("#!/bin/sh\necho 'error: no disk' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o700)
    code, found, _ = examined(mcp_home)
    assert (code, found["server"]["starts"]) == (1, False)
    (problem,) = [each for each in found["problems"] if "MCP" in each["text"]]
    assert problem["text"] == "the MCP server does not start: no disk"
    assert "MCP server: configured in " in cortext(mcp_home, "doctor").stdout


def test_doctor_reports_missing_mcp_package_with_install_command(
    mcp_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone removed the package mcp from the installation."""
    without = mcp_home / "without"
    without.mkdir()
    (without / "sitecustomize.py").write_text(
        "import sys\nsys.modules['mcp'] = None\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(without))
    code, found, _ = examined(mcp_home)
    assert (code, found["server"]["package"]) == (1, False)
    (problem,) = [each for each in found["problems"] if "MCP" in each["text"]]
    assert "cortext needs the package mcp, which is not installed" in problem["text"]
    assert problem["hint"].endswith(f"`{install_command('mcp')}`")
    assert "the package `mcp` is not installed" in cortext(mcp_home, "doctor").stdout
