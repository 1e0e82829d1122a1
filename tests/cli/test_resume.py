"""`cortext resume` with tools: which one, how it is started, and what comes after.

The tools are stand-ins that write down how they were called: what the real ones do with what we
write is in tests/tools.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.fake_tools import install, needs_terminal
from tests.command import SCRIPT, begin, cortext, head_of, ok
from tests.faults.mounts import read_only
from tests.homes import Homes, lay_out, move_project, said


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


@pytest.fixture
def person_homes(tmp_path: Path) -> Homes:
    return lay_out(tmp_path / "person")


@pytest.fixture
def project(tmp_path: Path, person_homes: Homes) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    move_project(person_homes, folder)
    return folder


@pytest.fixture
def env(person_homes: Homes, programs: Path, tmp_path: Path) -> Mapping[str, str]:
    path = f"{programs}:{Path(SCRIPT).parent}:/usr/bin:/bin"
    return {**person_homes.environment, "PATH": path, "CALLED": str(tmp_path / "called")}


def in_terminal(cwd: Path, env: Mapping[str, str], *words: str) -> tuple[int, str]:
    """A command with a terminal, and what it shows there."""
    line = shlex.join([SCRIPT, *words])
    done = subprocess.run(
        ["script", "-qec", line, "/dev/null"],
        cwd=cwd,
        env={**os.environ, **env, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_resume_prints_native_command_for_session_of_same_tool(
    tool: str, project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """By the tool's own flag, in the folder where it was had, and no text of it in the words."""
    install(programs, "claude", "codex", "gemini")
    id, _ = said(tool)
    line = ok(project, "resume", id, "--print", "--write", env=env)
    flag = {"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume"}
    assert line == f"cd {project} && {flag[tool]} {id}\n"


def test_resume_in_another_tool_creates_conversation_with_both_bindings(
    project: Path, programs: Path, person_homes: Homes, env: Mapping[str, str]
) -> None:
    """So that both halves stay together; resumed again, it is the session that was written."""
    install(programs, "codex", "gemini")
    ok(project, "init", env=env)
    id, turns = said("gemini")
    first = ok(project, "resume", id, "--tool", "codex", "--print", "--write", env=env)
    (folder,) = project.glob("conversations/*/001-chat-*")
    head = json.loads((folder / ".session/session.json").read_text(encoding="utf-8"))
    natives = [(entry["tool"], entry["session_id"]) for entry in head["native"]]
    written = first.split()[-1]
    assert natives == [("gemini", id), ("codex", written)]
    lines = (folder / ".session/messages.jsonl").read_text(encoding="utf-8")
    told = [json.loads(line)["content"] for line in lines.split("\n") if line]
    assert [text for _, text in turns if text not in told] == []
    (rollout,) = (person_homes.home / ".codex/sessions").rglob(f"*{written}.jsonl")
    before = rollout.read_bytes()
    assert (
        ok(project, "resume", folder.name, "--tool", "codex", "--print", "--write", env=env)
        == first
    )
    assert rollout.read_bytes() == before


@needs_terminal
@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_resume_starts_tool_on_read_only_disk_without_changing_session(
    tool: str, project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """It is reopened all the same, and stays as it was; that is said."""
    install(programs, tool)
    ok(project, "init", env=env)
    id = begin(project, "plan", "A pond", "How deep?", "80 cm.")
    ok(project, "stop", id, env=env)
    before = head_of(project, id)
    with read_only(project):
        code, shown = in_terminal(project, env, "resume", id)
    assert (code, "its status stays paused, and new messages are not saved" in shown) == (
        7,
        True,
    ), shown
    assert (head_of(project, id), Path(env["CALLED"]).is_file()) == (before, True)


@needs_terminal
def test_resume_passes_extra_arguments_and_returns_exit_code_of_tool(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """In the right folder, with the words after `--`."""
    install(programs, "claude")
    id, _ = said("claude")
    elsewhere = project.parent
    words = ("resume", id, "--", "--model", "a model", "--", "$(touch x)")
    code, shown = in_terminal(elsewhere, env, *words)
    called = Path(env["CALLED"]).read_text(encoding="utf-8").split("\n")
    assert (code, called[0]) == (7, str(project)), shown
    assert called[2:-1] == ["--resume", id, "--model", "a model", "--", "$(touch x)"]


@needs_terminal
def test_resume_inside_tool_prints_briefing_and_starts_no_tool(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """The briefing is printed, as without a terminal."""
    install(programs, "claude")
    id, _ = said("claude")
    inside = {**env, "CLAUDE_CODE_SESSION_ID": "00000000-0000-4000-8000-000000000000"}
    code, shown = in_terminal(project, inside, "resume", id)
    assert code == 0, shown
    assert "[RESUMED CONVERSATION]" in shown
    assert not Path(env["CALLED"]).exists()


def test_resume_with_missing_tool_names_install_command_or_falls_back(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """How to install it, and which are there; the last one used gives way to the only one."""
    install(programs, "codex")
    id, _ = said("gemini")
    done = cortext(project, "resume", id, "--tool", "gemini", "--print", "--write", env=env)
    assert done.returncode == 1
    assert "gemini is not installed" in done.stderr
    assert "`npm install -g @google/gemini-cli`" in done.stderr
    assert "an installed tool with --tool: codex" in done.stderr
    done = cortext(project, "resume", id, "--print", "--write", env=env)
    assert "gemini is not installed" in done.stderr
    assert "\nThe conversation opens in Codex instead.\n" in done.stderr
    assert " Codex continues this copy, and the original does not change.\n" in done.stderr
    assert " && codex resume " in done.stdout


@needs_terminal
def test_resume_asks_about_completed_conversation_before_it_announces_briefing(
    project: Path, env: Mapping[str, str]
) -> None:
    ok(project, "init", env=env)
    id = begin(project, "plan", "A pond", "How deep?", "80 cm.")
    ok(project, "done", id, env=env)
    _, shown = in_terminal(project, env, "resume", id)
    assert "This conversation is marked complete. Resume it anyway?" in shown
    assert "No AI tool is installed" not in shown


@needs_terminal
def test_resume_with_missing_tool_says_the_same_with_and_without_terminal(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    install(programs, "codex")
    id, _ = said("claude")
    words = ("resume", id, "--tool", "gemini")
    ok(project, "list", env=env)  # the first command also announces the archive
    in_pipe = cortext(project, *words, env=env)
    code, shown = in_terminal(project, env, *words)
    assert (in_pipe.returncode, in_pipe.stdout) == (1, "")
    assert in_pipe.stderr.startswith("error: gemini is not installed\nhint: install it with `npm ")
    assert (code, shown.replace("\r", "")) == (1, in_pipe.stderr)


def test_resume_names_tool_around_it_as_reason_for_no_launch(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    install(programs, "claude")
    id, _ = said("claude")
    inside = {**env, "CLAUDE_CODE_SESSION_ID": "00000000-0000-4000-8000-000000000000"}
    done = cortext(project, "resume", id, "--tool", "claude", env=inside)
    assert "claude was not started: this command runs inside an AI tool.\n" in done.stderr


def test_resume_selects_tool_by_setting_then_last_used(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """With several and no hint a program has to say; the workspace's setting is one."""
    ok(project, "init", env=env)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        id = begin(project, "plan", "Speed", "How fast?", "Very.")
    done = cortext(project, "resume", id, "--print", "--write", env=env)
    assert "no supported AI tool is installed" in done.stderr
    install(programs, "claude", "codex")
    done = cortext(project, "resume", id, "--print", "--write", env=env)
    assert done.returncode == 1
    assert "several tools are installed: claude, codex" in done.stderr
    asked = {**env, "CORTEXT_RESUME_TOOL": "codex"}
    assert " && codex resume " in ok(project, "resume", id, "--print", "--write", env=asked)
    # From now on it is the last one used.
    assert " && codex resume " in ok(project, "resume", id, "--print", "--write", env=env)
    assert [entry["tool"] for entry in head_of(project, id)["native"]] == ["codex"]


def test_resume_continues_in_current_folder_when_original_is_gone(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """It goes on here, as a new session, and that is said."""
    install(programs, "claude")
    id, _ = said("claude")
    here = project.parent / "here"
    here.mkdir()
    project.rename(project.parent / "moved")
    done = cortext(here, "resume", id, "--print", "--write", env=env)
    assert done.returncode == 0, done.stderr
    reason = f"Original folder {project} does not exist; continuing in {here}.\nSaved as "
    assert reason in done.stderr
    assert done.stdout.startswith(f"cd {here} && claude --resume ")
    assert id not in done.stdout


def test_resume_rewrites_transcript_that_tool_deleted(
    project: Path, programs: Path, person_homes: Homes, env: Mapping[str, str]
) -> None:
    """It is converted from what we kept of it."""
    install(programs, "claude")
    ok(project, "init", env=env)
    id, turns = said("claude")
    key = ok(project, "import", id, env=env).strip().removeprefix("imported: ")
    for path in (person_homes.home / ".claude/projects").rglob("*.jsonl"):
        path.unlink()
    written = ok(project, "resume", key, "--print", "--write", env=env).split()[-1]
    (path,) = (person_homes.home / ".claude/projects").rglob(f"{written}.jsonl")
    text = path.read_text(encoding="utf-8")
    assert [
        each for _, each in turns if json.dumps(each, ensure_ascii=False)[1:-1] not in text
    ] == []


def test_resume_refuses_session_open_elsewhere_but_allows_fork(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """Refused with what to do; a fork has an id of its own."""
    install(programs, "claude")
    sleeper = programs / "sleeper"
    sleeper.mkdir()
    id, _ = said("claude")
    (sleeper / "claude").write_text("#!/bin/sh\nread line\n", encoding="utf-8")
    (sleeper / "claude").chmod(0o755)
    with subprocess.Popen(
        [sleeper / "claude", "--resume", id], stdin=subprocess.PIPE, env={**os.environ, **env}
    ) as live:
        done = cortext(project, "resume", id, "--print", "--write", env=env)
        forked = ok(project, "resume", id, "--fork", "--print", "--write", env=env)
        live.kill()
    assert done.returncode == 1
    assert "this conversation is open in claude" in done.stderr
    assert "--fork" in done.stderr
    assert f"claude --resume {id} --fork-session --session-id " in forked


@pytest.mark.parametrize("tool", ["codex", "gemini"])
def test_resume_fork_copies_session_for_tools_without_native_fork(
    tool: str, project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """A copy with an id of its own; the session stays one of the tool's."""
    install(programs, tool)
    ok(project, "init", env=env)
    id, _ = said(tool)
    line = ok(project, "resume", id, "--fork", "--print", "--write", env=env)
    assert f"cd {project} && {tool} " in line
    assert id not in line
    assert not list(project.glob("conversations/*/*"))


def test_resume_command_line_never_contains_history_or_title(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """Of 300,000 characters, nor the title; an argument holds 131,071 bytes."""
    install(programs, "codex")
    ok(project, "init", env=env)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        id = begin(project, "plan", "Speed $(touch x)", "long " * 30_000, "text " * 30_000)
    line = ok(project, "resume", id, "--tool", "codex", "--print", "--write", env=env)
    assert len(line) < 1000
    assert "long" not in line.removeprefix(f"cd {project}")
    assert "touch" not in line.removeprefix(f"cd {project}")


def test_launcher_never_passes_options_that_skip_permission_prompts() -> None:
    """In all that the launcher can say."""
    source = Path(__file__).parents[2] / "src/cortext"
    text = "".join(
        (source / name).read_text(encoding="utf-8")
        for name in (
            "tools/launch_plans.py",
            "features/resume/resume_preparation.py",
            "features/resume/conversation_question.py",
            "cli/tool_reopening.py",
        )
    )
    # What Codex says, by which its complaint is known: nothing that it is told.
    text = text.replace('if "--skip-git-repo-check" in why', "")
    for word in (
        "dangerously",
        "yolo",
        "bypass",
        "--auto",
        "--full-auto",
        "skip-",
        "--session-file",
    ):
        assert word not in text, word
