"""Real tools on a terminal screen: opened, typed into and read."""

import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tests.tools.real.commands import (
    heard,
)
from tests.tools.real.launch import FAKE_KEY, Tool
from tests.tools.real.stub import Stub
from tests.tools.real.terminal import Terminal


def enter(terminal: Terminal, done: Callable[[], bool]) -> None:
    """A key that comes fast after others may count as one of a paste."""
    for _ in range(5):
        terminal.press("Enter")
        try:
            terminal.until(done, seconds=8)
        except AssertionError:
            continue
        return
    terminal.until(done, seconds=1)


READY = {"claude": "❯", "opencode": "Ask anything", "gemini": "Type your message"}
MENU = {
    "workspace.brainstorm": "Gather many ideas",
    "workspace.resume": "Find an earlier conversation",
    "workspace.stop-conversation": "Save this conversation",
}


@contextmanager
def opened(tool: Tool) -> Generator[Terminal]:
    """The tool at its prompt, with what only a person consents to."""
    if tool.name == "claude":
        project = {"hasTrustDialogAccepted": True}
        consent = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
            "projects": {str(tool.project): project},
        }
        (tool.home / ".claude.json").write_text(json.dumps(consent), encoding="utf-8")
    with Terminal(tool) as terminal:
        terminal.shows(READY[tool.name], seconds=60)
        yield terminal


def send(terminal: Terminal, stub: Stub, command: str, words: str = "") -> str:
    """Type a command, paste what follows it, and send it; what the model was told by it."""
    before = len(stub.asked)
    choose(terminal, command)
    if words:
        # Claude Code lets a paste overtake a key; OpenCode drops keys that close its menu together.
        first = "" if terminal.tool == "opencode" else words[0]
        typed = f"/{command} {first}".rstrip()
        # The same may have been sent before, and is still to be seen.
        seen = terminal.screen.count(typed) if first else 0
        terminal.type(f" {first}")
        terminal.until(lambda: terminal.screen.count(typed) > seen)
        terminal.paste(words[len(first) :])
        rest = f"{'' if first else ' '}{words.splitlines()[0][:20][len(first) :]}"
        terminal.until(lambda: _ends_so(terminal.screen, typed, rest))
    for _ in range(8):
        # The first may only take what the menu offers.
        terminal.press("Enter")
        try:
            terminal.until(lambda: len(stub.asked) > before, seconds=8)
        except AssertionError:
            continue
        break
    assert len(stub.asked) > before, terminal.screen
    return heard(stub.asked[before])


def _ends_so(screen: str, typed: str, rest: str) -> bool:
    """Whether what stands lowest, which was typed last, goes on so, or as a hidden paste."""
    return screen.rpartition(typed)[2].startswith(rest) or "asted" in screen


def choose(terminal: Terminal, command: str) -> None:
    """Type a command until the tool's menu has it: menus are filled some time after the prompt."""
    for _ in range(10):
        terminal.type(f"/{command}")
        try:
            terminal.shows(MENU[command], seconds=10)
        except AssertionError:
            terminal.press("C-u")
        else:
            return
    terminal.shows(MENU[command], seconds=1)


def say(terminal: Terminal, stub: Stub, words: str, answer: str) -> None:
    """One exchange."""
    stub.say(answer)
    terminal.type(words)
    terminal.shows(words)
    terminal.press("Enter")
    terminal.shows(answer)


def new_session(terminal: Terminal) -> None:
    """As a person begins another one without leaving OpenCode."""
    terminal.type("/new")
    terminal.shows("New session")
    terminal.press("Enter")
    terminal.shows("Ask anything")


def keep(name: str, screen: str) -> None:
    """Where `KEEP_SCREENS` names a folder, the screens are kept there."""
    folder = os.environ.get("KEEP_SCREENS")
    if folder:
        Path(folder, f"{name}.txt").write_text(f"{screen}\n", encoding="utf-8")
