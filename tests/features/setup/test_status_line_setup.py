"""Turning our status line on and off in the settings of Claude Code."""

import json
from pathlib import Path

import pytest

from tests.command import cortext, ok
from tests.features.setup.tool_files import CLAUDE, GEMINI, files

OURS = {"type": "command", "command": "cortext statusline", "refreshInterval": 30}
OWN = b'{\n  // mine\n  "statusLine": {"type": "command", "command": "~/line.sh"}\n}\n'


@pytest.fixture
def settings(person_home: Path) -> Path:
    path = person_home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(CLAUDE)
    return path


def set_up(home: Path, *options: str, tools: str = "claude") -> str:
    return ok(home, "setup", "--tools", tools, "--yes", *options)


def status_line(home: Path) -> object:
    return json.loads((home / ".claude/settings.json").read_bytes()).get("statusLine")


def test_setup_installs_the_status_line_only_if_asked(person_home: Path) -> None:
    set_up(person_home)
    assert status_line(person_home) is None
    set_up(person_home, "--statusline")
    assert status_line(person_home) == OURS
    assert "Nothing to do" in set_up(person_home)
    assert "Nothing to do" in set_up(person_home, "--statusline")
    set_up(person_home, "--recall")
    assert status_line(person_home) == OURS
    set_up(person_home, "--no-statusline")
    assert status_line(person_home) is None
    assert "Nothing to do" in set_up(person_home, "--no-statusline")


@pytest.mark.parametrize("last", ["--statusline", "--no-statusline"])
def test_uninstall_restores_every_byte(last: str, settings: Path, person_home: Path) -> None:
    before = files(person_home)
    for options in ((), ("--statusline",), ("--recall",), (last,)):
        set_up(person_home, *options)
    ok(person_home, "uninstall", "--yes")
    assert files(person_home) == before


def test_uninstall_removes_the_status_line_from_edited_settings(
    settings: Path, person_home: Path
) -> None:
    set_up(person_home, "--statusline")
    text = settings.read_text("utf-8").replace('"refreshInterval": 30', '"padding": 2')
    settings.write_text(text, encoding="utf-8")
    ok(person_home, "uninstall", "--yes")
    assert "statusLine" not in settings.read_text("utf-8")
    assert '"A": "1"' in settings.read_text("utf-8")


@pytest.mark.parametrize("own", [OWN, b'{"statusLine": null}', b'{"statusLine": "x"}'])
def test_own_status_line_stays(own: bytes, settings: Path, person_home: Path) -> None:
    settings.write_bytes(own)
    before = files(person_home)
    done = cortext(person_home, "setup", "--tools", "claude", "--yes", "--statusline")
    assert done.returncode == 0
    assert "keeps your own status line" in done.stderr
    assert "also run `cortext statusline`" in done.stderr
    assert "cortext statusline" not in settings.read_text("utf-8")
    set_up(person_home, "--no-statusline")
    assert own.strip(b"{}\n") in settings.read_bytes()
    ok(person_home, "uninstall", "--yes")
    assert files(person_home) == before


def test_status_line_is_refused_if_no_named_tool_has_one(person_home: Path) -> None:
    done = cortext(person_home, "setup", "--tools", "gemini", "--statusline", "--yes")
    assert done.returncode == 1
    assert "--statusline works only with Claude Code" in done.stderr


def test_status_line_leaves_other_tools_unchanged(person_home: Path) -> None:
    gemini = person_home / ".gemini/settings.json"
    gemini.parent.mkdir()
    gemini.write_bytes(GEMINI)
    set_up(person_home, tools="claude,gemini,codex")
    before = gemini.read_bytes()
    set_up(person_home, "--statusline", tools="claude,gemini,codex")
    assert gemini.read_bytes() == before
    assert status_line(person_home) == OURS


def test_doctor_says_that_the_status_line_is_on(person_home: Path) -> None:
    set_up(person_home)
    assert "status line" not in cortext(person_home, "doctor").stdout
    set_up(person_home, "--statusline")
    assert "commands: all installed, status line: on\n" in cortext(person_home, "doctor").stdout
    report = json.loads(cortext(person_home, "doctor", "--json").stdout)
    assert [tool["status_line"] for tool in report["tools"] if tool["tool"] == "claude"] == [True]
