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
def test_a_session_goes_on_in_its_own_tool(
    tool: str, project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """By the tool's own flag, in the folder where it was had, and no text of it in the words."""
    install(programs, "claude", "codex", "gemini")
    id, _ = said(tool)
    line = ok(project, "resume", id, "--print", env=env)
    flag = {"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume"}
    assert line == f"cd {project} && {flag[tool]} {id}\n"


def test_in_another_tool_it_becomes_a_conversation_first(
    project: Path, programs: Path, person_homes: Homes, env: Mapping[str, str]
) -> None:
    """So that both halves stay together; resumed again, it is the session that was written."""
    install(programs, "codex", "gemini")
    ok(project, "init", env=env)
    id, turns = said("gemini")
    first = ok(project, "resume", id, "--tool", "codex", "--print", env=env)
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
    assert ok(project, "resume", folder.name, "--tool", "codex", "--print", env=env) == first
    assert rollout.read_bytes() == before


@needs_terminal
@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_on_a_read_only_disk(
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
    assert (code, "it stays paused, and what is said now is not added" in shown) == (7, True), shown
    assert (head_of(project, id), Path(env["CALLED"]).is_file()) == (before, True)


@needs_terminal
def test_the_tool_gets_the_terminal_and_its_exit_code_is_ours(
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
def test_inside_a_tool_nothing_is_started(
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


def test_a_tool_that_is_missing(project: Path, programs: Path, env: Mapping[str, str]) -> None:
    """How to install it, and which are there; the last one used gives way to the only one."""
    install(programs, "codex")
    id, _ = said("gemini")
    done = cortext(project, "resume", id, "--tool", "gemini", "--print", env=env)
    assert done.returncode == 1
    assert "gemini is not installed" in done.stderr
    assert "`npm install -g @google/gemini-cli`" in done.stderr
    assert "installed are codex" in done.stderr
    done = cortext(project, "resume", id, "--print", env=env)
    assert "gemini is not installed here" in done.stderr
    assert " && codex resume " in done.stdout


def test_which_tool(project: Path, programs: Path, env: Mapping[str, str]) -> None:
    """With several and no hint a program has to say; the workspace's setting is one."""
    ok(project, "init", env=env)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        id = begin(project, "plan", "Speed", "How fast?", "Very.")
    done = cortext(project, "resume", id, "--print", env=env)
    assert "none of the tools is installed" in done.stderr
    install(programs, "claude", "codex")
    done = cortext(project, "resume", id, "--print", env=env)
    assert done.returncode == 1
    assert "several tools are installed: claude, codex" in done.stderr
    asked = {**env, "CORTEXT_RESUME_TOOL": "codex"}
    assert " && codex resume " in ok(project, "resume", id, "--print", env=asked)
    # From now on it is the last one used.
    assert " && codex resume " in ok(project, "resume", id, "--print", env=env)
    assert [entry["tool"] for entry in head_of(project, id)["native"]] == ["codex"]


def test_a_folder_that_is_gone(project: Path, programs: Path, env: Mapping[str, str]) -> None:
    """It goes on here, as a new session, and that is said."""
    install(programs, "claude")
    id, _ = said("claude")
    here = project.parent / "here"
    here.mkdir()
    project.rename(project.parent / "moved")
    done = cortext(here, "resume", id, "--print", env=env)
    assert done.returncode == 0, done.stderr
    assert f"{project}, where it was had, is not there: it goes on in {here}" in done.stderr
    assert done.stdout.startswith(f"cd {here} && claude --resume ")
    assert id not in done.stdout


def test_a_history_that_the_tool_deleted(
    project: Path, programs: Path, person_homes: Homes, env: Mapping[str, str]
) -> None:
    """It is converted from what we kept of it."""
    install(programs, "claude")
    ok(project, "init", env=env)
    id, turns = said("claude")
    key = ok(project, "import", id, env=env).strip().removeprefix("imported: ")
    for path in (person_homes.home / ".claude/projects").rglob("*.jsonl"):
        path.unlink()
    written = ok(project, "resume", key, "--print", env=env).split()[-1]
    (path,) = (person_homes.home / ".claude/projects").rglob(f"{written}.jsonl")
    text = path.read_text(encoding="utf-8")
    assert [
        each for _, each in turns if json.dumps(each, ensure_ascii=False)[1:-1] not in text
    ] == []


def test_open_elsewhere(project: Path, programs: Path, env: Mapping[str, str]) -> None:
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
        done = cortext(project, "resume", id, "--print", env=env)
        forked = ok(project, "resume", id, "--fork", "--print", env=env)
        live.kill()
    assert done.returncode == 1
    assert "it is open in claude now" in done.stderr
    assert "`--fork`" in done.stderr
    assert f"claude --resume {id} --fork-session --session-id " in forked


@pytest.mark.parametrize("tool", ["codex", "gemini"])
def test_a_fork_where_the_tool_has_none(
    tool: str, project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """A copy with an id of its own; the session stays one of the tool's."""
    install(programs, tool)
    ok(project, "init", env=env)
    id, _ = said(tool)
    line = ok(project, "resume", id, "--fork", "--print", env=env)
    assert f"cd {project} && {tool} " in line
    assert id not in line
    assert not list(project.glob("conversations/*/*"))


def test_a_long_history_is_never_on_the_command_line(
    project: Path, programs: Path, env: Mapping[str, str]
) -> None:
    """Of 300,000 characters, nor the title; an argument holds 131,071 bytes."""
    install(programs, "codex")
    ok(project, "init", env=env)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        id = begin(project, "plan", "Speed $(touch x)", "long " * 30_000, "text " * 30_000)
    line = ok(project, "resume", id, "--tool", "codex", "--print", env=env)
    assert len(line) < 1000
    assert "long" not in line.removeprefix(f"cd {project}")
    assert "touch" not in line.removeprefix(f"cd {project}")


def test_no_word_asks_a_tool_to_skip_its_questions() -> None:
    """In all that the launcher can say."""
    source = Path(__file__).parents[2] / "src/cortext"
    text = "".join(
        (source / name).read_text(encoding="utf-8")
        for name in (
            "tools/launch.py",
            "features/resume/reopen.py",
            "features/resume/ask.py",
            "cli/launch_tool.py",
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
