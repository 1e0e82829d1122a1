"""Setting up the AI tools of a person, and leaving them as they were."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext import paths
from cortext.formats import json_edit
from cortext.tools import settings_files
from cortext.tools.registry import find_tool
from cortext.tools.slash_command_files import SlashCommand, open_slash_commands
from tests.command import cortext, ok
from tests.faults.mounts import read_only
from tests.features.setup.tool_files import CLAUDE, CODEX, GEMINI, files
from tests.formats.settings_texts import settings as written_settings

TOOLS = "claude,opencode,gemini,codex"


def hooks_of(tool: str) -> settings_files.SettingsFile:
    found = settings_files.hooks_file(tool)
    assert found
    return found


@pytest.fixture
def settings_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME of its own, with settings that somebody wrote by hand."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    for path, data in (
        (".claude/settings.json", CLAUDE),
        (".gemini/settings.json", GEMINI),
        (".codex/config.toml", CODEX),
    ):
        (home / path).parent.mkdir(parents=True)
        (home / path).write_bytes(data)
    return home


def test_uninstall_restores_every_byte_of_settings(settings_home: Path) -> None:
    """Comments, a byte order mark, CRLF, odd indentation, trailing commas, no final newline."""
    before = files(settings_home)
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    assert files(settings_home) != before
    ok(settings_home, "uninstall", "--yes")
    assert files(settings_home) == before


def test_setup_adds_only_hooks_commands_and_server(settings_home: Path) -> None:
    """Trust, permissions and all other keys keep their values."""
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    from cortext.formats.json_edit import parse

    new = parse((settings_home / ".claude/settings.json").read_text("utf-8")).plain
    old = parse(CLAUDE.decode()).plain
    assert {k: v for k, v in new.items() if k != "hooks"} == {
        k: v for k, v in old.items() if k != "hooks"
    }
    assert new["hooks"]["Stop"][0] == old["hooks"]["Stop"][0]
    elements = [element for event in new["hooks"].values() for element in event]
    commands = [hook["command"] for element in elements for hook in element["hooks"]]
    ours = [command for command in commands if command.startswith("cortext ")]
    assert sorted(ours) == sorted(
        f"cortext hook claude {event}" for event in find_tool("claude").hook_events
    )
    config = tomllib.loads((settings_home / ".codex/config.toml").read_text("utf-8"))
    assert config.pop("notify") == ["cortext", "hook", "codex", "notify"]
    assert config["mcp_servers"].pop("cortext") == {"command": "cortext", "args": ["mcp"]}
    assert config == tomllib.loads(CODEX.decode())
    assert not (settings_home / ".gemini/policies").exists()
    assert not (settings_home / ".gemini/trustedFolders.json").exists()


def test_second_setup_changes_nothing(settings_home: Path) -> None:
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    once = files(settings_home)
    assert "Nothing to do" in ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    assert files(settings_home) == once


@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_setup_never_prints_secrets_of_settings(settings_home: Path, options: list[str]) -> None:
    path = settings_home / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        '{\n  "env": {"DB_PASSWORD": "correct-horse"},\n  "model": "opus"\n}\n', encoding="utf-8"
    )
    done = cortext(settings_home, "setup", "--tools", "claude", *options)
    printed = done.stdout + done.stderr
    assert ("correct-horse" in printed, '"model": "opus"' in printed) == (False, True)


def test_setup_shows_plan_and_changes_nothing_without_confirmation(settings_home: Path) -> None:
    """A dry run shows all of it on stdout; a run with nobody to ask names the files, shows how
    those change that are there, and changes nothing."""
    before = files(settings_home)
    shown = ok(settings_home, "setup", "--tools", "claude", "--dry-run")
    assert '+\t\t"SessionStart": [' in shown
    assert "+allowed-tools: Bash(cortext slash:*)" in shown
    refused = cortext(settings_home, "setup", "--tools", "claude")
    assert (
        refused.returncode,
        "confirmation needed, but this is not a terminal" in refused.stderr,
    ) == (1, True)
    assert refused.stderr.split("\n")[:4] == [
        "change ~/.claude/settings.json",
        "create ~/.claude/commands/workspace.resume.md",
        "create ~/.claude/commands/workspace.stop-conversation.md",
        "create ~/.claude/commands/cortext.md",
    ]
    assert '+\t\t"SessionStart": [' in refused.stderr
    assert "allowed-tools" not in refused.stderr
    assert files(settings_home) == before


def test_uninstall_keeps_user_change_made_after_setup(settings_home: Path) -> None:
    """What they added is there after uninstall, and nothing of ours."""
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    path = settings_home / ".claude/settings.json"
    path.write_bytes(path.read_bytes().replace(b'"env"', b'"model": "mine",\r\n\t"env"'))
    ok(settings_home, "uninstall", "--yes")
    assert path.read_bytes() == CLAUDE.replace(b'"env"', b'"model": "mine",\r\n\t"env"')


def test_setup_and_uninstall_keep_command_file_changed_by_user(settings_home: Path) -> None:
    """At setup and at uninstall, and that is said."""
    ok(settings_home, "setup", "--tools", "claude", "--yes")
    path = settings_home / ".claude/commands/cortext.md"
    path.write_text("My own words.\n", encoding="utf-8")
    for command, verb in (("setup", "replaced"), ("uninstall", "removed")):
        done = cortext(settings_home, command, "--tools", "claude", "--yes")
        assert f"{path} is not {verb}, because" in done.stderr
    assert path.read_text(encoding="utf-8") == "My own words.\n"
    assert sorted(path.parent.iterdir()) == [path]


def test_setup_keeps_notify_of_user_in_codex_config(settings_home: Path) -> None:
    path = settings_home / ".codex/config.toml"
    path.write_text('notify = ["mine"]\n', encoding="utf-8")
    done = cortext(settings_home, "setup", "--tools", "codex", "--yes")
    assert "it already has a `notify`; to use both, let" in done.stderr
    assert '`cortext hook codex notify "$1"`' in done.stderr
    assert path.read_text(encoding="utf-8") == 'notify = ["mine"]\n'
    assert (done.returncode, done.stdout) == (0, "Nothing was changed.\n")
    both = ok(settings_home, "setup", "--tools", "claude,codex", "--yes")
    assert both == "Set up claude: 5 files written.\nTo undo this: `cortext uninstall`\n"


def test_setup_prints_gemini_hint_once_and_only_when_gemini_is_installed(
    settings_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a second setup, and not where only its folder is there."""
    asked = "To allow `cortext slash` and nothing else"
    monkeypatch.setenv("PATH", os.defpath)
    assert asked not in cortext(settings_home, "setup", "--tools", "gemini", "--yes").stderr
    ok(settings_home, "uninstall", "--yes")
    program = settings_home / "bin/gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.defpath}")
    said = [cortext(settings_home, "setup", "--tools", "gemini", "--yes").stderr for _ in range(2)]
    assert [asked in text for text in said] == [True, False]


def test_setup_fails_when_no_tool_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", os.defpath)
    done = cortext(tmp_path, "setup")
    assert (done.returncode, done.stderr.split("\n")[0]) == (1, "error: no AI tool was found")


@pytest.mark.parametrize("data", [b'{"hooks": []}', b'{"a": ', b"\xff\xfe{", b"[]"])
def test_setup_leaves_unreadable_settings_and_still_adds_commands(
    settings_home: Path, data: bytes
) -> None:
    """With a sentence that says why; the commands are made all the same."""
    path = settings_home / ".claude/settings.json"
    path.write_bytes(data)
    done = cortext(settings_home, "setup", "--tools", "claude", "--yes")
    assert (done.returncode, f"{path} is not changed" in done.stderr) == (1, True)
    assert "error: setup is incomplete for claude\n" in done.stderr
    assert "run `cortext setup --tools claude`\n" in done.stderr
    assert path.read_bytes() == data
    assert (settings_home / ".claude/commands/workspace.resume.md").exists()


def test_setup_writes_through_settings_link_and_keeps_mode(settings_home: Path) -> None:
    """As people keep their dotfiles; mode and link stay."""
    path, real = settings_home / ".claude/settings.json", settings_home / "dotfiles.json"
    path.rename(real)
    path.symlink_to(real)
    real.chmod(0o640)
    ok(settings_home, "setup", "--tools", "claude", "--yes")
    assert path.is_symlink()
    assert b"cortext hook claude Stop" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    ok(settings_home, "uninstall", "--yes")
    assert (path.is_symlink(), real.read_bytes()) == (True, CLAUDE)


def test_setup_respects_tool_folder_variables(
    settings_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, path in (
        ("CLAUDE_CONFIG_DIR", "c"),
        ("CODEX_HOME", "x"),
        ("GEMINI_CLI_HOME", "g"),
        ("OPENCODE_CONFIG_DIR", "o"),
    ):
        monkeypatch.setenv(variable, str(settings_home / path))
    before = files(settings_home)
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    made = {path for path in files(settings_home) if path not in before}
    assert {"c/settings.json", "x/config.toml", "g/.gemini/settings.json"} <= made
    assert "o/commands/workspace.resume.md" in made
    ok(settings_home, "uninstall", "--yes")
    assert files(settings_home) == before


def test_uninstall_removes_hooks_and_commands_without_record(
    settings_home: Path, data_home: Path
) -> None:
    """The record may be lost: hooks and command files say whose they are."""
    ok(settings_home, "setup", "--tools", TOOLS, "--yes")
    (data_home / "cortext/setup.json").unlink()
    ok(settings_home, "uninstall", "--yes")
    assert not any(b"cortext" in data for data in files(settings_home).values())


@given(written_settings(), st.sampled_from(["claude", "gemini"]))
def test_removing_hooks_restores_any_settings(written: tuple[Any, str], tool: str) -> None:
    """Random settings with comments: undone, they are the same text; taken out without a record,
    the same value."""
    value, text = written
    try:
        edited = hooks_of(tool).with_hooks(text)
    except ValueError:
        hooks = value.get("hooks", {})
        assert not all(isinstance(each, list) for each in hooks.values())
        return
    assert hooks_of(tool).has_hooks(edited.text)
    steps = json.loads(json.dumps(edited.steps))
    assert settings_files.undone(edited.text, steps) == text
    left = hooks_of(tool).without_hooks(edited.text, edited.made)
    from cortext.formats.json_edit import parse

    assert parse(left).plain == value


def test_regenerated_command_file_keeps_its_here_document_marker() -> None:
    """Made again it is the same; made anew it is another."""
    command = SlashCommand(
        "workspace.x", "new x", 'A "quoted" \u20ac line: # not a comment.', "[topic]"
    )
    first = open_slash_commands("claude").file_text(command)
    assert open_slash_commands("claude").file_text(command, first) == first
    assert open_slash_commands("claude").file_text(command) != first
    toml = tomllib.loads(open_slash_commands("gemini").file_text(command))
    assert toml["description"] == command.description
    assert "!{cortext slash new x --as workspace.x -- {{args}}}" in toml["prompt"]


def test_init_and_upgrade_write_commands_for_workspace_types(
    settings_home: Path, tmp_path: Path
) -> None:
    """Made by init, kept in step by upgrade, and a person's changes stay."""
    space = tmp_path / "space"
    space.mkdir()
    said = ok(space, "init", "--tools", "claude,gemini")
    assert "(15 in .workspace/, 1 in conversations/, 6 in .claude/, 6 in .gemini/)" in said
    assert (space / ".claude/commands/workspace.brainstorm.md").exists()
    assert not (space / ".opencode").exists()
    text = "# Retro\n\nLook back, and learn.\n"
    (space / ".workspace/commands/retro.md").write_text(text, encoding="utf-8")
    mine = space / ".claude/commands/workspace.plan.md"
    mine.write_text("Mine.\n", encoding="utf-8")
    assert ".gemini/commands/workspace.retro.toml" in ok(space, "upgrade")
    made = (space / ".claude/commands/workspace.retro.md").read_text(encoding="utf-8")
    assert 'description: "Look back, and learn."' in made
    assert "cortext slash new retro --stdin" in made
    assert mine.read_text(encoding="utf-8") == "Mine.\n"
    assert ok(space, "upgrade") == "Nothing to upgrade.\n"


def test_init_writes_no_commands_when_no_tool_is_found(tmp_path: Path) -> None:
    """Where no AI tool is found, init writes what it always wrote."""
    ok(tmp_path, "init", env={"PATH": os.defpath})
    assert sorted(path.name for path in tmp_path.iterdir()) == [".workspace", "conversations"]


def test_shell_completes_tool_names_after_comma(settings_home: Path) -> None:
    """Also after a comma, those that are not there yet."""
    words = {"_CORTEXT_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    for command in ("setup", "uninstall", "init"):
        env = {**words, "COMP_WORDS": f"cortext {command} --tools codex,c"}
        assert ok(settings_home, env=env) == "plain,codex,claude\n"


def test_setup_rejects_unknown_tool_by_name(settings_home: Path) -> None:
    for names, said in (("claude,emacs", "unknown tool 'emacs';"), (",", "no tool is named;")):
        done = cortext(settings_home, "setup", "--tools", names)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "record",
    [
        {"files": [1]},
        {"files": 5},
        {"files": {"SETTINGS": "x"}},
        {"files": {"SETTINGS": {"digest": "DIGEST"}}},
        {"files": {"SETTINGS": {"digest": "DIGEST", "steps": [[[0, 5]]], "made": []}}},
        {"files": {"SETTINGS": {"digest": "", "steps": [], "made": [["permissions"]]}}},
    ],
)
def test_uninstall_ignores_invalid_record_and_keeps_user_settings(
    settings_home: Path, data_home: Path, record: dict[str, Any]
) -> None:
    """Our hooks go, and nothing of the person's."""
    before = json.loads(GEMINI)
    ok(settings_home, "setup", "--tools", "gemini", "--yes")
    path = settings_home / ".gemini/settings.json"
    text = json.dumps(record).replace("SETTINGS", str(path))
    digest = json.loads((data_home / "cortext/setup.json").read_bytes())["files"][str(path)]
    text = text.replace("DIGEST", digest["digest"])
    (data_home / "cortext/setup.json").write_text(text, encoding="utf-8")
    ok(settings_home, "uninstall", "--tools", "gemini", "--yes")
    after = json.loads(path.read_bytes())
    assert not any(after.pop("hooks").values())  # empty lists may be the person's
    assert before.pop("hooks") == {}
    assert after.pop("mcpServers") == {}  # so may this
    assert after == before


def test_uninstall_keeps_hook_extended_by_user(settings_home: Path) -> None:
    """It runs more than what we wrote."""
    ok(settings_home, "setup", "--tools", "gemini", "--yes")
    path = settings_home / ".gemini/settings.json"
    mine = path.read_text("utf-8").replace("hook gemini AfterAgent", "hook gemini AfterAgent; ls")
    path.write_text(mine, encoding="utf-8")
    ok(settings_home, "uninstall", "--tools", "gemini", "--yes")
    assert "hook gemini AfterAgent; ls" in path.read_text("utf-8")


def test_setup_creates_settings_at_target_of_broken_link(settings_home: Path) -> None:
    """They are made where the link leads, as if there were none yet."""
    path = settings_home / ".gemini/settings.json"
    path.unlink()
    path.symlink_to(settings_home / "elsewhere.json")
    ok(settings_home, "setup", "--tools", "gemini", "--yes")
    assert "cortext hook gemini" in (settings_home / "elsewhere.json").read_text("utf-8")


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude/commands/cortext.md"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_setup_and_uninstall_skip_folder_or_pipe_in_place_of_file(
    settings_home: Path, name: str, make: Callable[[str], None]
) -> None:
    """A folder or a pipe in the place of one of a tool's files keeps nothing else."""
    path = settings_home / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(str(path))
    done = cortext(settings_home, "setup", "--tools", "claude,gemini", "--yes")
    assert (done.returncode, f"{path} is not changed" in done.stderr) == (1, True)
    assert (settings_home / ".claude/commands/workspace.resume.md").exists()
    assert b"cortext hook gemini" in (settings_home / ".gemini/settings.json").read_bytes()
    done = cortext(settings_home, "uninstall", "--yes")
    assert (done.returncode, f"{path} is not changed" in done.stderr) == (0, True)
    assert (settings_home / ".gemini/settings.json").read_bytes() == GEMINI
    assert not (settings_home / ".claude/commands/workspace.resume.md").exists()


def test_uninstall_ignores_invalid_path_in_record(settings_home: Path, data_home: Path) -> None:
    """It is passed over, and the rest of the record counts."""
    ok(settings_home, "setup", "--tools", "gemini", "--yes")
    record = data_home / "cortext/setup.json"
    known = json.loads(record.read_bytes())
    known["files"]["/a\0b"] = {"tool": "gemini", "folders": []}
    record.write_text(json.dumps(known), encoding="utf-8")
    ok(settings_home, "uninstall", "--yes")
    assert (settings_home / ".gemini/settings.json").read_bytes() == GEMINI


def test_adding_hooks_parses_settings_once_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of our hooks moves what stands behind it: only that makes a text worth reading anew."""
    texts: list[str] = []
    real = json_edit.JsonSpan

    def value(start: int, end: int, plain: Any, items: Any = None) -> json_edit.JsonSpan:
        made = real(start, end, plain, items)
        texts.extend(["whole"] if isinstance(plain, dict) and "permissions" in plain else [])
        return made

    monkeypatch.setattr(json_edit, "JsonSpan", value)
    edited = hooks_of("claude").with_hooks('{"permissions": {}}', but=[settings_files.ENTRY])
    assert len(edited.steps) == len(texts) == len(find_tool("claude").hook_events)


def test_uninstall_names_record_that_cannot_be_written(settings_home: Path) -> None:
    ok(settings_home, "setup", "--tools", "claude", "--yes")
    record = Path(paths.data_home()) / "cortext/setup.json"
    with read_only(record.parent):
        done = cortext(settings_home, "uninstall", "--yes")
    assert done.returncode == 1
    assert f"error: could not write {record}" in done.stderr
