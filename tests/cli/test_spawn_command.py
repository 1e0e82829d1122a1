"""`cortext spawn` and `aur spawn` from the outside: what is asked for, and what is refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.spawn_actions import delete_old_sessions
from cortext.durability.trash_folder import TrashEntry
from cortext.features.spawn import delete_spawned
from tests.cli.repl.terminal import CTRL_D, Terminal, plain
from tests.command import SCRIPT, cortext, run_aur

TAIL = ("--tool", "tail -n 1")


@pytest.fixture
def sessions(data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the sessions; no AI tool is installed."""
    monkeypatch.setenv("PATH", os.defpath)
    return data_home / "aurora/spawn/sessions"


def have(cwd: Path, id: str, text: str, *options: str) -> None:
    """A session in which one thing was said."""
    done = subprocess.run(
        [SCRIPT, "spawn", "-i", "--session", id, *(options or TAIL)],
        cwd=cwd, input=f"{text}\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def listed(cwd: Path) -> list[dict[str, Any]]:
    return json.loads(run_aur(cwd, "--list-sessions", "--json").stdout)


def test_delete_session_requires_exact_id(tmp_path: Path, sessions: Path) -> None:
    """Words that were said, or the beginning of an id, delete nothing."""
    have(tmp_path, "alpha", "zebra-77 was here")
    for given in ("zebra-77", "alph", "../alpha", ""):
        done = run_aur(tmp_path, "--delete-session", given)
        assert (done.returncode, f"Session not found: {given}" in done.stderr) == (1, True)
        assert "  alpha  zebra-77 was here" in done.stderr
    assert len(listed(tmp_path)) == 1


def test_cortext_delete_asks_before_deleting_spawn_session(tmp_path: Path, sessions: Path) -> None:
    """`cortext delete` also takes words, so it may find a session that was not meant."""
    have(tmp_path, "alpha", "zebra-77 was here")
    done = cortext(tmp_path, "delete", "zebra-77")
    assert (
        done.returncode != 0,
        "confirmation needed, but this is not a terminal" in done.stderr,
    ) == (True, True)
    assert len(listed(tmp_path)) == 1
    done = cortext(tmp_path, "delete", "zebra-77", "--yes")
    assert (done.returncode, done.stdout) == (0, "Session alpha deleted.\n")


@pytest.mark.parametrize("more", [(), ("--yes",), ("-y",)])
def test_delete_session_deletes_without_prompt_and_names_restore_command(
    tmp_path: Path, sessions: Path, more: tuple[str, ...]
) -> None:
    have(tmp_path, "alpha", "hello")
    done = run_aur(tmp_path, "--delete-session", "alpha", *more)
    assert (done.returncode, done.stdout) == (0, "Session alpha deleted.\n")
    assert listed(tmp_path) == []
    (hint,) = re.findall("^hint: to restore it: `cortext trash (restore [0-9a-f]+)`$", done.stderr)
    assert cortext(tmp_path, "trash", *hint.split()).returncode == 0
    assert [row["session_id"] for row in listed(tmp_path)] == ["alpha"]


def test_resume_of_unknown_session_lists_available_sessions(tmp_path: Path, sessions: Path) -> None:
    """The available ones are named, and the exit code is 1; also for a link to nothing."""
    have(tmp_path, "alpha", "hello")
    (sessions / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    for given in ("nothing-like-it", "gone"):
        done = run_aur(tmp_path, "--resume", given)
        assert (done.returncode, f"Session not found: {given}\n" in done.stderr) == (1, True)
        assert "Available sessions:\n" in done.stderr


def test_spawn_rejects_conflicting_options(tmp_path: Path, sessions: Path) -> None:
    """Nothing is done; also where one of them is for 0 days."""
    have(tmp_path, "alpha", "hello")
    for words in (("-i", "--clean-sessions", "0"), ("--list-sessions", "--clean-sessions", "0")):
        done = run_aur(tmp_path, *words)
        assert (done.returncode, "cannot be combined" in done.stderr) == (2, True)
    done = run_aur(tmp_path, "tasks.md", "--interactive")
    assert (done.returncode, "Cannot use --interactive with task file" in done.stderr) == (1, True)
    assert len(listed(tmp_path)) == 1


def test_session_option_never_matches_longer_id(tmp_path: Path, sessions: Path) -> None:
    """Never another whose id begins so."""
    have(tmp_path, "xyz", "hello")
    (sessions / "x.jsonl").mkdir()
    done = run_aur(tmp_path, "-i", "--session", "x", *TAIL)
    assert done.returncode != 0
    assert "xyz" not in done.stdout
    assert {row["session_id"]: row["turn_count"] for row in listed(tmp_path)}["xyz"] == 2


def test_resume_uses_recorded_tool_but_never_recorded_command(
    tmp_path: Path, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of ours is found again; a command is not taken from a file, but named."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("claude", "gemini"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (programs / name).chmod(0o700)
    have(tmp_path, "mine", "hello")
    done = run_aur(tmp_path, "--resume", "mine")
    assert done.returncode == 1
    assert "this session used the command tail\n" in done.stderr
    assert "hint: give the command again: --tool" in done.stderr
    assert listed(tmp_path)[0]["status"] == "completed"
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    done = run_aur(tmp_path, "--resume", "mine")
    assert "this session used tail; continuing with claude" in done.stderr
    run_aur(tmp_path, "-i", "--session", "theirs", "--tool", "gemini")
    assert "session theirs · gemini" in run_aur(tmp_path, "--resume", "theirs").stderr
    monkeypatch.setenv("PATH", os.defpath)
    assert "used gemini, which is not installed\n" in run_aur(tmp_path, "--resume", "theirs").stderr


def test_spawn_prints_copyable_resume_command_with_tool(tmp_path: Path, sessions: Path) -> None:
    """The line can be copied, by the name that was called."""
    done = run_aur(tmp_path, "-i", "--session", "mine", *TAIL)
    assert "To resume it, run `aur spawn --resume mine --tool 'tail -n 1'`." in done.stderr
    done = cortext(tmp_path, "spawn", "--resume", "mine", *TAIL)
    assert "To resume it, run `cortext spawn --resume mine --tool 'tail -n 1'`." in done.stderr


def test_continue_option_resumes_session_with_latest_turn(tmp_path: Path, sessions: Path) -> None:
    """`-c` takes the one with the latest turn that nobody has open."""
    have(tmp_path, "first", "hello")
    have(tmp_path, "second", "hello")
    assert "session second" in run_aur(tmp_path, "-c", *TAIL).stderr
    have(tmp_path, "first", "again")
    assert "session first" in run_aur(tmp_path, "-c", *TAIL).stderr
    done = run_aur(tmp_path, "-c", "--agent", "qa-tset", *TAIL)
    assert (done.returncode, "no session of the agent qa-tset to" in done.stderr) == (1, True)


def test_resume_by_complete_id_reads_no_catalog(tmp_path: Path, sessions: Path) -> None:
    """The others are not even looked at, nor is the catalog made; part of an id is searched for."""
    have(tmp_path, "first", "hello")
    have(tmp_path, "first-2", "hello")
    index = Path(paths.catalog())
    assert "session first ·" in run_aur(tmp_path, "--resume", " first ", *TAIL).stderr
    assert not index.exists()
    assert "session first-2 ·" in run_aur(tmp_path, "--resume", "first-", *TAIL).stderr
    assert index.exists()


def test_resume_without_id_asks_in_terminal_and_exits_4_in_script(
    tmp_path: Path, sessions: Path
) -> None:
    """`--resume` alone shows the latest by number; without a person it says which there are."""
    have(tmp_path, "first", "hello")
    have(tmp_path, "second", "good bye")
    aur = str(Path(sys.executable).with_name("aur"))
    with Terminal([aur, "spawn", "--resume"], cwd=tmp_path, env={}) as terminal:
        shown = terminal.until("Which conversation?")
        assert re.search(r"1\. good bye +\(spawn, .*second\)", shown)
        assert re.search(r"2\. hello +\(spawn, .*first\)", shown)
        terminal.line("q")
        assert terminal.ends() == 1
    done = run_aur(tmp_path, "--resume")
    assert done.returncode == 4
    # They are not active, and nobody says so.
    assert "error: 2 conversations are possible\n" in done.stderr


def test_spawn_script_without_tool_echoes_and_exits_1(tmp_path: Path, sessions: Path) -> None:
    """With nothing installed the echo says so, and the exit code does."""
    done = subprocess.run(
        [SCRIPT, "spawn"],
        cwd=tmp_path, input="hello\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "This is an echo" in done.stdout) == (1, True)


def test_spawn_with_closed_stdin_exits_0(tmp_path: Path, sessions: Path) -> None:
    """There is nothing to read, and that is no error."""
    done = subprocess.run(
        ["sh", "-c", f"{SCRIPT} spawn -i --tool 'tail -n 1' <&-"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "unexpected" in done.stderr) == (0, False)


def test_spawn_uses_defaults_when_settings_file_is_named_pipe(
    tmp_path: Path, sessions: Path
) -> None:
    """Nobody waits for it; the defaults hold, and that is said."""
    sessions.mkdir(parents=True)
    os.mkfifo(sessions.parents[1] / "config.json")
    done = run_aur(tmp_path, "--list-sessions")
    assert (done.returncode, "using the defaults" in done.stderr) == (0, True)


def test_clean_sessions_prints_count_and_names_of_deleted_sessions(
    tmp_path: Path, sessions: Path
) -> None:
    for id in ("alpha", "beta"):
        have(tmp_path, id, "hello")
    done = run_aur(tmp_path, "--clean-sessions", "0")
    assert (done.returncode, done.stdout) == (0, "2 sessions deleted.\n")
    assert "deleted: alpha: hello\n" in done.stderr
    assert run_aur(tmp_path, "--clean-sessions", "0", "--yes").stdout == "0 sessions deleted.\n"


def test_interrupted_clean_names_sessions_already_deleted(
    tmp_path: Path,
    sessions: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each is named when it has gone."""
    for id in ("a", "b"):
        have(tmp_path, id, "hello")
    put, gone = delete_spawned._move_to_trash, list[ConversationRow]()

    def interrupted(row: ConversationRow) -> TrashEntry:
        if gone:
            raise KeyboardInterrupt
        gone.append(row)
        return put(row)

    monkeypatch.setattr(delete_spawned, "_move_to_trash", interrupted)
    with pytest.raises(KeyboardInterrupt):
        delete_old_sessions(0)
    assert capsys.readouterr().err == f"deleted: {gone[0].key}: hello\n"


def test_trash_restore_accepts_several_numbers_of_same_list(tmp_path: Path, sessions: Path) -> None:
    """Those of the list that was shown, not of one that got shorter meanwhile."""
    for id in ("a", "b", "c"):
        have(tmp_path, id, "hello")
        run_aur(tmp_path, "--delete-session", id)
    done = cortext(tmp_path, "trash", "restore", "1", "3")
    assert done.returncode == 0, done.stderr
    assert sorted(row["session_id"] for row in listed(tmp_path)) == ["a", "c"]


@pytest.mark.parametrize("name", ["aur", "cortext"])
def test_spawn_help_fits_80_columns_and_uses_called_name(name: str, tmp_path: Path) -> None:
    """No line is folded, and the examples have the name that was called."""
    script = str(Path(SCRIPT).with_name(name))
    with Terminal([script, "spawn", "--help"], cwd=tmp_path, env={}, columns=80) as terminal:
        assert terminal.ends() == 0
    lines = plain(terminal.raw).splitlines()
    assert max(map(len, lines)) <= 80
    examples = [line for line in lines if re.match(rf"    .*\b{name} spawn -", line)]
    assert len(examples) >= 5


def test_resumed_session_shows_last_message(tmp_path: Path, sessions: Path) -> None:
    """What was said last is shown when a session is reopened."""
    have(tmp_path, "alpha", "what was it?")
    aur = str(Path(sys.executable).with_name("aur"))
    with Terminal([aur, "spawn", "--resume", "alpha", *TAIL], cwd=tmp_path, env={}) as terminal:
        shown = terminal.prompt()
        assert "Resuming completed session" in shown
        assert "1. user" in shown
        assert "what was it?" in shown
        terminal.keys(CTRL_D)
        assert terminal.ends() == 0


def test_session_without_a_turn_is_only_in_the_list_of_spawn(
    tmp_path: Path, sessions: Path
) -> None:
    have(tmp_path, "said", "hello")
    run_aur(tmp_path, "-i", "--session", "unsaid", *TAIL)
    assert [row["session_id"] for row in listed(tmp_path)] == ["unsaid", "said"]
    for command in (
        ("list",),
        ("list", "--all"),
        ("resume", "--list"),
        ("list", "--tool", "spawn"),
    ):
        rows = json.loads(cortext(tmp_path, *command, "--json").stdout)
        assert [row["id"] for row in rows] == ["said"], command
    assert "session said · tail" in run_aur(tmp_path, "--last", *TAIL).stderr
    assert cortext(tmp_path, "delete", "unsaid", "--yes").returncode == 0
