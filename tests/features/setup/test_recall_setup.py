"""Turning recall on and off in the settings of Claude Code."""

import json
from pathlib import Path

import pytest

from tests.command import cortext, ok
from tests.features.setup.tool_files import CLAUDE, GEMINI, files

HOOK = "cortext hook claude SessionStart"


@pytest.fixture
def claude_settings(person_home: Path) -> Path:
    path = person_home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_bytes(CLAUDE)
    return path


def commands(settings: Path) -> list[str]:
    """The commands of our hooks."""
    words = settings.read_text("utf-8").split('"')
    return [word for word in words if word.startswith("cortext hook ")]


def set_up(home: Path, *options: str, tools: str = "claude") -> str:
    return ok(home, "setup", "--tools", tools, "--yes", *options)


def test_setup_without_option_leaves_recall_off(claude_settings: Path, person_home: Path) -> None:
    set_up(person_home)
    assert HOOK in commands(claude_settings)
    assert "--recall" not in claude_settings.read_text("utf-8")


def test_recall_changes_only_the_command_of_one_hook(
    claude_settings: Path, person_home: Path
) -> None:
    set_up(person_home)
    before = claude_settings.read_text("utf-8")
    set_up(person_home, "--recall")
    after = claude_settings.read_text("utf-8")
    assert after == before.replace(f'"{HOOK}"', f'"{HOOK} --recall"')


def test_first_setup_can_turn_recall_on(claude_settings: Path, person_home: Path) -> None:
    set_up(person_home, "--recall")
    assert [each for each in commands(claude_settings) if "SessionStart" in each] == [
        f"{HOOK} --recall"
    ]


def test_setup_again_neither_turns_recall_off_nor_on(
    claude_settings: Path, person_home: Path
) -> None:
    set_up(person_home, "--recall")
    on = claude_settings.read_bytes()
    assert "Nothing to do" in set_up(person_home)
    assert "Nothing to do" in set_up(person_home, "--recall")
    assert claude_settings.read_bytes() == on
    set_up(person_home, "--no-recall")
    off = claude_settings.read_bytes()
    assert b"--recall" not in off
    assert "Nothing to do" in set_up(person_home)
    assert claude_settings.read_bytes() == off


def test_dry_run_shows_the_hook_that_recall_changes(
    claude_settings: Path, person_home: Path
) -> None:
    set_up(person_home)
    before = claude_settings.read_bytes()
    shown = ok(person_home, "setup", "--tools", "claude", "--recall", "--dry-run")
    lines = [line.strip() for line in shown.splitlines() if "cortext hook" in line]
    assert [line[0] for line in lines if HOOK in line] == ["-", "+"]
    assert f"{HOOK} --recall" in shown
    assert claude_settings.read_bytes() == before


@pytest.mark.parametrize("last", ["--recall", "--no-recall"])
def test_uninstall_after_recall_restores_every_byte(
    last: str, claude_settings: Path, person_home: Path
) -> None:
    before = files(person_home)
    for options in ((), ("--recall",), (last,)):
        set_up(person_home, *options)
    ok(person_home, "uninstall", "--yes")
    assert files(person_home) == before


def test_uninstall_removes_recall_from_settings_that_were_edited(
    claude_settings: Path, person_home: Path
) -> None:
    set_up(person_home, "--recall")
    text = claude_settings.read_text("utf-8").replace('"A": "1"', '"A": "2"')
    claude_settings.write_text(text, encoding="utf-8")
    ok(person_home, "uninstall", "--yes")
    assert commands(claude_settings) == []
    assert '"A": "2"' in claude_settings.read_text("utf-8")


def test_recall_is_refused_if_no_named_tool_has_it(person_home: Path) -> None:
    done = cortext(person_home, "setup", "--tools", "gemini", "--recall", "--yes")
    assert done.returncode == 1
    assert "--recall works only with Claude Code" in done.stderr
    assert "add claude to --tools" in done.stderr


def test_recall_leaves_other_tools_unchanged(claude_settings: Path, person_home: Path) -> None:
    gemini = person_home / ".gemini/settings.json"
    gemini.parent.mkdir()
    gemini.write_bytes(GEMINI)
    set_up(person_home, tools="claude,gemini")
    before = gemini.read_bytes()
    set_up(person_home, "--recall", tools="claude,gemini")
    assert gemini.read_bytes() == before
    assert f"{HOOK} --recall" in commands(claude_settings)


def test_doctor_says_that_recall_is_on(claude_settings: Path, person_home: Path) -> None:
    set_up(person_home)
    assert "recall" not in cortext(person_home, "doctor").stdout
    set_up(person_home, "--recall")
    shown = cortext(person_home, "doctor").stdout
    assert "hooks: all installed, commands: all installed, recall: on\n" in shown
    report = json.loads(cortext(person_home, "doctor", "--json").stdout)
    assert [tool["recall"] for tool in report["tools"] if tool["tool"] == "claude"] == [True]
