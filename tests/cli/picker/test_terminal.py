"""`cortext` alone: in a terminal the picker, anywhere else the list."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.picker.picker_workspace import make_workspace
from tests.command import SCRIPT, begin, cortext

TOOL = """#!/bin/sh
printf '%s\\n' "$PWD" "$NO_COLOR" "$@" > "$CALLED"
cat "$HOME"/.claude/projects/*/*.jsonl > "$CALLED.said"
printf 'the tool is here'; read line
exit 7
"""
needs_tmux = pytest.mark.needs("tmux", "to have a screen")


@pytest.fixture
def terminal_workspace(tmp_path: Path) -> Path:
    folder = make_workspace(tmp_path / "project")
    begin(folder, "plan", "Faster parser", "How fast is it?", "Forty lines.")
    program = tmp_path / "programs/claude"
    program.parent.mkdir()
    program.write_text(TOOL, encoding="utf-8")
    program.chmod(0o755)
    return folder


@contextmanager
def terminal(cwd: Path, **env: str) -> Generator[Callable[..., str]]:
    """A shell in tmux in which `cortext` was typed; gives what sends keys, and waits for a text."""
    socket = str(cwd.parent / f"tmux-{os.urandom(3).hex()}")
    path = f"{cwd.parent}/programs:{Path(SCRIPT).parent}:/usr/bin:/bin"
    # tmux has its own idea of TERM.
    words = ["env", *(f"{key}={value}" for key, value in env.items()), SCRIPT]
    line = f"{shlex.join(words)}; echo ended with $?; read line"
    home = {"HOME": str(cwd.parent / "home"), "TERM": "xterm-256color"}
    called = {"CALLED": str(cwd.parent / "called"), "PATH": path, **home}
    inherited = {key: value for key, value in os.environ.items() if key not in ("CI", "NO_COLOR")}

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", *words],
            env={**inherited, **called}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return done.stdout

    def use(*keys: str, until: str) -> str:
        if keys:
            tmux("send-keys", *keys)
        end = time.monotonic() + 60
        while until not in (shown := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", str(cwd), "sh", "-c", line)
    try:
        yield use
    finally:
        tmux("kill-server")


@needs_tmux
def test_enter_hands_terminal_to_tool_and_returns_its_exit_code(terminal_workspace: Path) -> None:
    """In 80x24: typed, chosen, opened; the picker is gone from the screen, and the tool's exit
    code is ours."""
    with terminal(terminal_workspace, NO_COLOR="1") as use:
        use(until="Forty lines.")
        use("pars", until="1 project")
        shown = use("Enter", until="the tool is here")
        assert "type to filter" not in shown
        assert "❯ pars" not in shown
        use("Enter", until="ended with 7")
    cwd, no_colour, *words = (
        (terminal_workspace.parent / "called").read_text(encoding="utf-8").split("\n")
    )
    assert (cwd, no_colour) == (str(terminal_workspace), "1")
    assert words[0] == "--resume"


@needs_tmux
def test_word_and_enter_sent_together_open_matching_conversation(terminal_workspace: Path) -> None:
    """What the word finds is opened, not what stood first before it."""
    begin(terminal_workspace, "plan", "Slower lexer", "How slow is it?", "Ninety lines.")
    with terminal(terminal_workspace) as use:
        use(until="Ninety lines.")
        use("qqqqq", "Enter", until="No conversation contains these words")
        use("C-u", "forty", "Enter", until="the tool is here")
        use("Enter", until="ended with 7")
    said = (terminal_workspace.parent / "called.said").read_text(encoding="utf-8")
    assert ("Forty lines." in said, "Ninety lines." in said) == (True, False)


@needs_tmux
def test_escape_quits_picker_with_0_and_restores_screen(terminal_workspace: Path) -> None:
    """Esc ends it with 0, and the shell goes on as it was."""
    with terminal(terminal_workspace) as use:
        use(until="Forty lines.")
        shown = use("Escape", until="ended with 0")
        assert "Faster parser" not in shown


@needs_tmux
def test_picker_handles_control_keys_from_real_terminal(terminal_workspace: Path) -> None:
    """A control key, a question, and an answer."""
    with terminal(terminal_workspace) as use:
        use(until="Forty lines.")
        use("C-r", until="Title")
        use(" again", "Enter", until='Renamed to "Faster parser again"')
        use("?", until="this help")
        use("q", until="Faster parser again")
        use("C-c", until="ended with 0")


@needs_tmux
@pytest.mark.parametrize("env", [{"CI": "true"}, {"TERM": "dumb"}])
def test_picker_prints_plain_list_in_ci_or_dumb_terminal(
    terminal_workspace: Path, env: dict[str, str]
) -> None:
    """The list, and nothing waits for a key."""
    with terminal(terminal_workspace, **env) as use:
        shown = use(until="ended with 0")
        assert "LAST ACTIVE" in shown
        assert "type to filter" not in shown


def test_cortext_prints_plain_list_into_pipe(terminal_workspace: Path) -> None:
    """With nothing of the picker in it."""
    done = cortext(terminal_workspace)
    assert (done.returncode, "LAST ACTIVE" in done.stdout, "\x1b" in done.stdout) == (
        0,
        True,
        False,
    )


@needs_tmux
def test_empty_picker_names_searched_folders_and_first_command(tmp_path: Path) -> None:
    """Where was looked for conversations, and how to begin."""
    folder = make_workspace(tmp_path / "project")
    with terminal(folder) as use:
        shown = use(until="No conversations yet")
        assert all(name in shown for name in ("~/.claude", "~/.codex", "~/.gemini", "opencode"))
        assert "cortext new brainstorm" in shown
        use("Enter", until="No conversations yet")
        use("Escape", until="ended with 0")


@needs_tmux
def test_unexpected_error_restores_screen_and_prints_no_traceback(terminal_workspace: Path) -> None:
    """It ends in a sentence, on a screen that is the shell's again."""
    broken = terminal_workspace.parent / "broken"
    broken.mkdir()
    code = (
        "from cortext.cli.picker import row_format\n"
        "def age(*a): raise RuntimeError('no such age')\n"
        "row_format.age = age\n"
    )
    (broken / "sitecustomize.py").write_text(code, encoding="utf-8")
    with terminal(terminal_workspace, PYTHONPATH=str(broken)) as use:
        shown = use(until="ended with 1")
        assert "error: unexpected error: RuntimeError: no such age" in shown
        assert "Traceback" not in shown


@needs_tmux
def test_picker_process_ends_when_terminal_closes(terminal_workspace: Path) -> None:
    """Nothing of it is left behind."""
    with terminal(terminal_workspace) as use:
        use(until="Forty lines.")
        mine = running(terminal_workspace)
        assert mine
    end = time.monotonic() + 60
    while running(terminal_workspace):
        assert time.monotonic() < end, mine
        time.sleep(0.05)


def running(cwd: Path) -> list[str]:
    """The processes of ours that were started in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal() and (process / "cwd").resolve() == cwd:
                words = (process / "cmdline").read_bytes()
                if os.fsencode(SCRIPT) in words.split(b"\0"):
                    found.append(process.name)
    return found


@needs_tmux
def test_picker_shows_all_conversations_when_workspace_is_empty(
    terminal_workspace: Path, tmp_path: Path
) -> None:
    """In a folder of no project, what there is elsewhere."""
    cortext(terminal_workspace, "list", env={"HOME": str(tmp_path / "home")})
    empty = make_workspace(tmp_path / "empty")
    with terminal(empty) as use:
        assert "1 everywhere" in use(until="Forty lines.")
        use("Escape", until="ended with 0")
