"""A tool that `cortext resume` opened in a terminal."""

import json
import shlex
from pathlib import Path
from typing import ClassVar

from cortext import SessionMessage, open_session_store
from tests.tools.real.launch import FAKE_KEY, check
from tests.tools.real.machine import CORTEXT, Machine, missing
from tests.tools.real.stub import Stub
from tests.tools.real.terminal import SIZE, Terminal

SAID = [
    ("user", "How fast is it?"),
    ("assistant", "It is very fast."),
    ("user", "Why?"),
    ("assistant", "Because it is small."),
]
LEAVE = {"claude": "/exit", "codex": "/quit", "gemini": "/quit", "opencode": "/exit"}


class Shell(Terminal):
    """A shell that runs one command of ours, and says how it ended."""

    ENDED: ClassVar[str] = "ended with"

    def __enter__(self) -> "Shell":
        check(self._tool.root, self._environment)
        line = f"{shlex.join([str(CORTEXT), *self._arguments])}; echo {self.ENDED} $?; read line"
        self._tmux("new-session", "-d", *SIZE, "-c", str(self._cwd), "sh", "-c", line)
        self._pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        return self


def say(shell: Shell, text: str) -> None:
    """As often as it takes: a tool may draw its prompt before it reads keys."""
    for _ in range(5):
        shell.type(text)
        try:
            # One of them takes a question mark for a key of its own.
            shell.shows(text.rstrip("?"), seconds=8)
        except AssertionError:
            continue
        break
    shell.press("Enter")


def agree(machine: Machine) -> None:
    """What a person has agreed to who used Claude Code before."""
    agreed = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
        "projects": {str(machine.project): {"hasTrustDialogAccepted": True}},
    }
    (machine.root / "home/.claude.json").write_text(json.dumps(agreed), encoding="utf-8")


def pick(machine: Machine, stub: Stub, name: str) -> None:
    """Have a conversation, pick it by words that were said in it, go on in the tool, and leave."""
    agree(machine)
    machine.ok("init")
    made = Path(machine.ok("new", "plan", "Speed").strip()).parent
    messages = [SessionMessage(role, text) for role, text in SAID]  # type: ignore[arg-type]
    open_session_store(f"workspace:{machine.project}").append(made.name, *messages)
    machine.ok("new", "plan", "Another one")
    with Shell(machine.tools[name]) as shell:
        shell.shows("Another one", "Speed", "type to filter")
        shell.type("because small")
        shell.shows("found in messages", "Because it is small.", "1 of 2")
        shell.press("Enter")
        shell.until(lambda: "found in messages" not in shell.screen)
        shell.shows("How fast is it?", "Because it is small.", seconds=60)
        say(shell, "What is next?")
        shell.shows("The first answer.")
        say(shell, LEAVE[name])
        screen = shell.shows(f"{Shell.ENDED} 0")
        assert f"2 new messages saved in {made.name}" in screen
    (body,) = stub.asked
    assert missing([*SAID, ("user", "What is next")], body) == []
    lines = (made / ".session/messages.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["content"] == "The first answer."
