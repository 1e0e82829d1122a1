"""kill -9 of `aur` at its worst moments: every completed exchange is there, and it can go on."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.repl.terminal import CTRL_D, Terminal
from tests.command import run_aur

AGENT = Path(__file__).parents[2] / "cli/repl/agent.py"
AUR = str(Path(sys.executable).with_name("aur"))


def aur(tmp_path: Path, *arguments: str, under: tuple[str, ...] = ()) -> Terminal:
    environment = {
        "AURORA_SPAWN_TOOL": f"{sys.executable} {AGENT}",
        "AGENT_CALLED": str(tmp_path / "called"),
    }
    return Terminal([*under, AUR, "spawn", *arguments], cwd=tmp_path, env=environment)


def listed(tmp_path: Path) -> dict[str, Any]:
    (row,) = json.loads(run_aur(tmp_path, "--list-sessions", "--json").stdout)
    return row


def check(tmp_path: Path, turns: int) -> None:
    """So many turns are left, the session is interrupted, and another exchange goes into it."""
    row = listed(tmp_path)
    assert (row["turn_count"], row["status"], row["damage"]) == (turns, "interrupted", None)
    with aur(tmp_path, "--resume", "one") as terminal:
        assert f"{turns} turns so far" in terminal.prompt()
        terminal.line("/history")
        shown = terminal.prompt()
        assert "you said: kept" in shown
        terminal.line("after it")
        assert "you said: after it" in terminal.prompt()
        terminal.keys(CTRL_D)
        assert terminal.ends() == 0
    row = listed(tmp_path)
    assert (row["turn_count"], row["status"]) == (turns + 2, "completed")


def test_kill_during_turn_keeps_completed_exchanges(tmp_path: Path) -> None:
    """Nothing of that turn is kept, all before it is; the agent does not stay for long."""
    with aur(tmp_path, "-i", "--session", "one") as terminal:
        terminal.prompt()
        terminal.line("kept")
        terminal.prompt()
        terminal.line(f"wait {tmp_path / 'never'}")
        terminal.until("waiting")
        terminal.process.kill()
        terminal.ends()
    (tmp_path / "never").touch()
    check(tmp_path, 2)


def test_kill_between_turns_keeps_all_exchanges(tmp_path: Path) -> None:
    """All exchanges are there."""
    with aur(tmp_path, "-i", "--session", "one") as terminal:
        terminal.prompt()
        terminal.line("kept")
        terminal.prompt()
        terminal.line("this too")
        terminal.prompt()
        terminal.process.kill()
        terminal.ends()
    check(tmp_path, 4)


def test_kill_after_resume_marks_session_interrupted(tmp_path: Path) -> None:
    """What was completed once is interrupted now."""
    with aur(tmp_path, "-i", "--session", "one") as terminal:
        terminal.prompt()
        terminal.line("kept")
        terminal.prompt()
        terminal.keys(CTRL_D)
        assert terminal.ends() == 0
    assert listed(tmp_path)["status"] == "completed"
    with aur(tmp_path, "--resume", "one") as terminal:
        terminal.prompt()
        terminal.process.kill()
        terminal.ends()
    check(tmp_path, 2)


@pytest.mark.needs("strace", "to kill it in the middle of saving")
def test_kill_during_save_keeps_written_exchange(tmp_path: Path) -> None:
    """After the lines were written and before they were synced: they are there, whole. What a kill
    does at every other call of it is in the fault sweep."""
    under = ("strace", "-f", "-o", os.devnull, "-e", "trace=fdatasync")
    under += ("-e", "inject=fdatasync:signal=SIGKILL:when=2")
    with aur(tmp_path, "-i", "--session", "one", under=under) as terminal:
        terminal.prompt()
        terminal.line("kept")
        terminal.prompt()
        terminal.line("this one")
        assert terminal.ends() != 0
    check(tmp_path, 4)
