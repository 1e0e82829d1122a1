"""`cortext doctor`: whether cortext and the AI tools work together."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.features.errors_log import write_error
from cortext.features.setup.setup_record import digest
from tests.cli.claude_person import Person
from tests.command import SCRIPT, cortext, ok
from tests.features.doctor.damage import Kept, change_lines, nul_line, torn


@pytest.fixture
def doctor_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody who has Claude Code and cortext, and was in Codex once."""
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin/cortext").symlink_to(SCRIPT)
    program = home / "bin/claude"
    program.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("PATH", f"{home}/bin:{os.defpath}")
    return home


def examined(person: Path) -> tuple[int, dict[str, Any]]:
    done = cortext(person, "doctor", "--json")
    return done.returncode, json.loads(done.stdout)


def test_doctor_reports_no_problem_when_tools_are_not_connected(doctor_home: Path) -> None:
    """What is there is said, and what would connect it."""
    lines = ok(doctor_home, "doctor").split("\n")
    assert lines[0].endswith(", at ~/bin/cortext")
    assert lines[1] == "claude: ~/bin/claude; not connected (`cortext setup --tools claude`)"
    assert lines[2].startswith("codex: its program is not on the PATH; not connected")
    assert lines[3].startswith("history folders: ~/.claude/projects (CLAUDE_CONFIG_DIR")
    assert lines[4] == "archive: nothing was copied yet (run `cortext sync`)"
    assert lines[5:] == ["no problems found", ""]


def test_doctor_and_stats_report_same_damaged_transcripts(doctor_home: Path) -> None:
    person = Person(doctor_home.parent)
    project = person.project("proj")
    ids = [person.say(project, ["Where?", "Here."]) for _ in range(3)]
    for id, line in zip(ids, ('{"type": "user", "mess\n', "[1, 2]\n", ""), strict=True):
        (path,) = (doctor_home / ".claude").rglob(f"{id}.jsonl")
        path.write_text(line + path.read_text(encoding="utf-8"), encoding="utf-8")
    counted = {each["id"]: each["detail"] for each in rows_of_damage(project)}
    assert set(counted) == set(ids[:2])
    code, found = examined(project)
    notes = [each["text"] for each in found["problems"] if each["severity"] == "note"]
    assert (code, sorted(notes)) == (0, sorted(counted.values()))


def rows_of_damage(cwd: Path) -> list[dict[str, str]]:
    return json.loads(ok(cwd, "stats", "--all", "--json"))["damaged"]


def test_doctor_reports_hooks_and_commands_of_connected_tools(doctor_home: Path) -> None:
    ok(doctor_home, "setup", "--yes")
    said = ok(doctor_home, "doctor")
    hooks, commands = "hooks: all installed", "commands: all installed"
    assert f"claude: ~/bin/claude; {hooks}, {commands}\n" in said
    assert f"codex: its program is not on the PATH; {hooks}\n" in said


def test_doctor_reports_opencode_hooks_only_with_plugin(doctor_home: Path) -> None:
    """OpenCode has no hooks otherwise, and that is no fault."""
    (doctor_home / ".local/share/opencode").mkdir(parents=True)
    data = {"XDG_DATA_HOME": str(doctor_home / ".local/share")}
    ok(doctor_home, "setup", "--yes", env=data)
    assert "opencode: its program is not on the PATH; commands: all installed" in ok(
        doctor_home, "doctor", env=data
    )
    ok(doctor_home, "setup", "--plugin", "--yes", env=data)
    said = ok(doctor_home, "doctor", env=data)
    assert "opencode: its program is not on the PATH; hooks: all installed, commands: all" in said


def test_doctor_names_missing_hook_and_command_with_setup_hint(doctor_home: Path) -> None:
    """With the command that puts them back, which does."""
    ok(doctor_home, "setup", "--yes")
    path = doctor_home / ".claude/settings.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    del value["hooks"]["Stop"]
    path.write_text(json.dumps(value), encoding="utf-8")
    (doctor_home / ".claude/commands/cortext.md").unlink()
    code, found = examined(doctor_home)
    assert (code, [problem["text"] for problem in found["problems"]]) == (
        1,
        [
            "hooks of claude are missing: Stop",
            f"commands in {doctor_home}/.claude/commands are missing: cortext.md",
        ],
    )
    assert found["problems"][0]["hint"].startswith("run `cortext setup --tools claude`")
    ok(doctor_home, "setup", "--tools", "claude", "--yes")
    assert examined(doctor_home)[0] == 0


def test_doctor_warns_about_outdated_command_but_not_edited_command(doctor_home: Path) -> None:
    """It works, so nothing is wrong; what a person changed is theirs."""
    ok(doctor_home, "setup", "--yes")
    path = doctor_home / ".claude/commands/cortext.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    assert examined(doctor_home)[1]["problems"] == []
    record = Path(paths.data_home(), "cortext/setup.json")
    known = json.loads(record.read_text(encoding="utf-8"))
    known["files"][str(path)]["digest"] = digest(path.read_bytes())
    record.write_text(json.dumps(known), encoding="utf-8")
    code, found = examined(doctor_home)
    assert code == 0
    (problem,) = found["problems"]
    assert problem["text"].endswith("differ from those of this version: cortext.md")
    ok(doctor_home, "setup", "--tools", "claude", "--yes")
    assert examined(doctor_home)[1]["problems"] == []


def test_doctor_reports_unreadable_tool_settings(doctor_home: Path) -> None:
    (doctor_home / ".claude").mkdir()
    (doctor_home / ".claude/settings.json").write_text("{", encoding="utf-8")
    done = cortext(doctor_home, "doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"problem: {doctor_home}/.claude/settings.json cannot be read: " in done.stdout
    assert (
        "\nhint: correct the file by hand, then run `cortext setup --tools claude`\n" in done.stdout
    )


def test_doctor_reports_unreadable_cortext_settings(doctor_home: Path) -> None:
    """A doctor who cannot be asked about that is none."""
    (doctor_home / ".config/cortext").mkdir(parents=True)
    (doctor_home / ".config/cortext/config.toml").write_text("[archive", encoding="utf-8")
    done = cortext(doctor_home, "doctor")
    assert (done.returncode, "unexpected error" in done.stderr) == (1, False)
    assert "archive: the setting archive.enabled cannot be read\n" in done.stdout
    assert f"problem: {doctor_home}/.config/cortext/config.toml" in done.stdout


def test_doctor_reports_cortext_missing_from_path_of_connected_tools(doctor_home: Path) -> None:
    ok(doctor_home, "setup", "--yes")
    (doctor_home / "bin/cortext").unlink()
    code, found = examined(doctor_home)
    assert (code, found["program"]) == (1, None)
    assert "is not on the PATH, but your tools call it" in found["problems"][0]["text"]


def test_doctor_shows_logged_hook_errors_and_fails_on_recent_errors(
    doctor_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is wrong for a week, and shown for longer."""
    week_ago = time.gmtime(time.time() - 8 * 86400)
    with monkeypatch.context() as long_ago:
        long_ago.setattr("cortext.features.errors_log.time.gmtime", lambda: week_ago)
        write_error("hook claude Stop", ValueError("long ago\x1b[2J"))
    done = cortext(doctor_home, "doctor")
    assert (done.returncode, "\x1b" in done.stdout) == (0, False)
    assert "Z hook claude Stop: ValueError: long ago" in done.stdout
    write_error("hook claude Stop", ValueError("it broke"))
    code, found = examined(doctor_home)
    assert (code, len(found["errors"])) == (1, 2)
    assert found["problems"][0]["text"].startswith("hooks or background tasks failed once")


def test_doctor_shows_failure_of_real_hook_call(doctor_home: Path) -> None:
    """From the tool's call to the doctor's sentence."""
    done = cortext(doctor_home, "hook", "claude", "Stop", "{no json")
    assert (done.returncode, done.stdout) == (0, "")
    assert "hook claude Stop" in cortext(doctor_home, "doctor").stdout


def test_doctor_reports_archive_size_and_disabled_state(doctor_home: Path) -> None:
    folder = doctor_home / ".claude/projects/-x"
    folder.mkdir(parents=True)
    line = {"type": "user", "sessionId": "a", "uuid": "b", "cwd": "/x", "message": {"role": "user"}}
    (folder / "0a1b2c3d-0000-4000-8000-000000000000.jsonl").write_text(
        json.dumps(line) + "\n", encoding="utf-8"
    )
    ok(doctor_home, "sync")
    archive = examined(doctor_home)[1]["archive"]
    assert (archive["copies"], archive["enabled"]) == (1, True)
    assert archive["last_sync"]
    assert "archive: 1 transcript, " in ok(doctor_home, "doctor")
    ok(doctor_home, "config", "archive.enabled", "off")
    assert "archive: turned off" in ok(doctor_home, "doctor")


def test_doctor_reads_settings_with_byte_order_mark(doctor_home: Path) -> None:
    """As editors of Windows write them."""
    (doctor_home / ".config/cortext").mkdir(parents=True)
    text = '\ufeff[archive]\nenabled = "off"\n'
    (doctor_home / ".config/cortext/config.toml").write_text(text, encoding="utf-8")
    assert "archive: turned off" in ok(doctor_home, "doctor")


def test_doctor_limits_problems_per_file_unless_verbose(doctor_home: Path) -> None:
    """Three lines of it, how many more there are, and all of them with `--verbose`."""
    kept = Kept("log", Path(paths.spawn_sessions())).make()
    change_lines(kept, lambda lines: [*lines[:3], *[b"{no json"] * 40, *lines[3:]])
    told = cortext(doctor_home, "doctor").stdout
    assert told.count("the line is not a readable message") == 3
    assert f"- {kept.lines}: 37 more problems (`--verbose` shows all)\n" in told
    told = cortext(doctor_home, "doctor", "--verbose").stdout
    assert told.count("the line is not a readable message") == 40
    plan = cortext(doctor_home, "doctor", "--fix").stderr
    assert "with the 6 messages that can be read; the original with 40 unreadable lines" in plan


def test_doctor_json_has_same_problem_texts_as_plain_output(doctor_home: Path) -> None:
    kept = Kept("log", Path(paths.spawn_sessions())).make()
    torn(kept)
    nul_line(kept)
    told = cortext(doctor_home, "doctor").stdout
    found = examined(doctor_home)[1]["problems"]
    assert [f"{one['severity']}: {one['text']}" in told for one in found] == [True, True]
    assert {one["severity"] for one in found} == {"problem", "warning"}


def test_doctor_claims_no_messages_for_empty_conversation_without_head(doctor_home: Path) -> None:
    root = doctor_home / "work"
    root.mkdir()
    ok(root, "init")
    made = Path(ok(root, "new", "plan", "Pond").strip()).parent
    (made / ".session/session.json").unlink()
    report = cortext(root, "doctor").stdout
    assert f"{made}/.session/session.json: the file is missing\n" in report
    plan = cortext(root, "doctor", "--fix").stderr
    assert f"write session.json of {made} again; this conversation has no messages\n" in plan
