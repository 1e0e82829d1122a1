"""What is printed for tools that read little of it, or read late and leave early."""

import os
import pty
import re
import select
import subprocess
import tty
from collections.abc import Mapping
from pathlib import Path

import pytest

from cortext.formats.history_text import unescape
from tests.command import SCRIPT, begin, ok

IN_GEMINI = {"GEMINI_CLI": "1"}
BRIEFING = ("slash", "briefing", "--as", "workspace.resume", "--", "long story")
LONGEST = 30_000  # characters that Claude Code takes of what a command prints
PATIENCE = 0.05
POLLS = 1200


@pytest.fixture
def long_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One in which nearly as much was said as can wait in a terminal."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GEMINI_CLI", raising=False)
    root = tmp_path / "ws"
    root.mkdir()
    ok(root, "init")
    begin(root, "plan", "Long story", *(f"Number {n}: {'é long ' * 100}" for n in range(8)))
    return root


def late(cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
    """What such a reader gets: a piece each time that no more fits in and the program has to wait,
    and nothing more once it has ended, whatever waits then."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    child = subprocess.Popen(
        [SCRIPT, *args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    said = b""
    try:
        for _ in range(POLLS):
            try:
                assert child.wait(PATIENCE) == 0
                break
            except subprocess.TimeoutExpired:
                if not select.select([], [theirs], [], 0)[1]:
                    said += os.read(ours, 1 << 16)
        else:
            pytest.fail("it never ended")
    finally:
        child.kill()
        child.wait()
        os.close(theirs)
        os.close(ours)
    return said.decode("utf-8", "replace")


def test_gemini_receives_complete_briefing_before_exit(long_workspace: Path) -> None:
    """Nothing of it waits any more when we end, and what may wait then shows nothing."""
    said = late(long_workspace, *BRIEFING, env=IN_GEMINI).rstrip("\r")
    ends = re.findall(r"\[END HISTORY [0-9a-f]{32}\]\n\[end cortext [0-9a-f]{32}\]\n\Z", said)
    assert len(ends) == 1, said[-300:]
    assert [f"Number {n}: " in said for n in range(8)] == [True] * 8
    assert "\r" not in said


def test_gemini_receives_complete_slash_list_before_exit(long_workspace: Path) -> None:
    """Whatever a slash command prints is followed by as much."""
    said = late(long_workspace, "slash", "list", env=IN_GEMINI).rstrip("\r")
    assert said.endswith("(number or search)\n")


@pytest.mark.parametrize(
    ("words", "last"),
    [(("show", "long story"), "Number 7: "), (("search", "number"), "Long story"), (("list",), "")],
    ids=["show", "search", "list"],
)
def test_gemini_receives_complete_output_of_any_command(
    long_workspace: Path, words: tuple[str, ...], last: str
) -> None:
    """An agent may run any of them in a shell."""
    said = late(long_workspace, *words, env=IN_GEMINI)
    assert said.endswith("\r")
    assert "Long story" in said
    assert last in said
    assert said.rstrip("\r").endswith("\n")


def test_output_has_no_gemini_padding_for_codex_inside_gemini(long_workspace: Path) -> None:
    """Each says that it is there; without a process of Gemini's above us it is the other."""
    env = {**IN_GEMINI, "CODEX_THREAD_ID": "0" * 8}
    assert "\r" not in late(long_workspace, "list", env=env)


@pytest.mark.parametrize("env", [{}, {"CODEX_THREAD_ID": "0" * 8}])
def test_output_has_no_gemini_padding_in_other_terminals(
    long_workspace: Path, env: dict[str, str]
) -> None:
    """Another tool may keep each byte."""
    assert "\r" not in late(long_workspace, "slash", "list", env=env)


def test_output_has_no_gemini_padding_in_pipe(long_workspace: Path) -> None:
    """Gemini CLI reads pipes to their end."""
    assert "\r" not in ok(long_workspace, *BRIEFING, env=IN_GEMINI)


def test_briefing_parts_stay_below_output_limit_of_tool(long_workspace: Path) -> None:
    """Also where signs that a tool would take for a file are written as several."""
    begin(long_workspace, "plan", "Mentions", *("See @a and @b.\n" * 500 for _ in range(9)))
    piece, told = ok(long_workspace, "slash", "briefing", "mentions"), ""
    while more := re.search(r"--rest (\w+\.\d+)`", piece):
        assert len(piece) < LONGEST
        told += piece[: piece.rindex("\n\n[This is piece ")]
        piece = ok(long_workspace, "slash", "briefing", "--rest", more[1])
    assert len(piece) < LONGEST
    assert unescape(told + piece).count("| See @a and @b.") == 9 * 500
