"""A person with a home of their own, an agent that does as it is told, and a terminal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.repl.terminal import Terminal
from tests.command import SCRIPT

AGENT = f"{sys.executable} {Path(__file__).with_name('agent.py')}"


class Person:
    """Where the sessions are, and how `spawn` is called."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cwd = folder / "project"
        self.called = folder / "called"
        self.sessions = self.home / ".aurora/spawn/sessions"
        agents = self.home / ".aurora/agents"
        agents.mkdir(parents=True)
        (agents / "qa-test.md").write_text("You test things.\n", encoding="utf-8")
        self.cwd.mkdir()

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "AGENT_CALLED": str(self.called),
        }

    def words(self, *more: str, tool: str = AGENT) -> list[str]:
        return [SCRIPT, "spawn", "-i", *(("--tool", tool) if tool else ()), *more]

    def script(self, text: str, *more: str, tool: str = AGENT) -> subprocess.CompletedProcess[str]:
        """The same without a terminal: what is said comes from a pipe."""
        return subprocess.run(
            self.words(*(more or ("--agent", "qa-test", "--session", "s")), tool=tool),
            cwd=self.cwd,
            env={**os.environ, **self.env},
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def lines(self, id: str) -> list[dict[str, Any]]:
        """The file of a session: its head, then its turns."""
        text = (self.sessions / f"{id}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    def status(self, id: str) -> str:
        return self.lines(id)[0]["status"]

    def said(self, id: str) -> list[str]:
        return [line["content"] for line in self.lines(id)[1:]]

    def agents_alive(self) -> list[int]:
        """Those agents that were started and have not ended."""
        pids = [int(line) for line in self.called.read_text(encoding="utf-8").split()]
        return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    for name in ("NO_COLOR", "CI", "AURORA_HOME", "AURORA_SPAWN_TOOL"):
        monkeypatch.delenv(name, raising=False)
    return Person(tmp_path)


@pytest.fixture
def spawn(person: Person) -> Iterator[Callable[..., Terminal]]:
    """Begin a session in a terminal, at its first prompt."""
    opened: list[Terminal] = []

    def begin(*more: str, env: dict[str, str] | None = None, **size: int) -> Terminal:
        words = person.words(*(more or ("--agent", "qa-test", "--session", "s")))
        terminal = Terminal(words, cwd=person.cwd, env={**person.env, **(env or {})}, **size)
        opened.append(terminal)
        return terminal

    yield begin
    for terminal in opened:
        terminal.__exit__(None, None, None)
    if person.called.exists():
        for pid in person.agents_alive():
            os.kill(pid, signal.SIGKILL)
