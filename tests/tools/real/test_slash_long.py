"""Long conversations through our slash commands in the real tools: nothing is cut in silence."""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import say
from tests.tools.real.commands import PINNED, cortext, heads, heard, set_up, shell, slash
from tests.tools.real.launch import Tool
from tests.tools.real.screens import opened, send
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
# Below the budget of a briefing, and many times what can wait in a pipe or a terminal.
LONG = [f"Number {number} says {'something ' * 90}" for number in range(160)]
MIDDLING = LONG[:8]


def told_of(tool: Tool, texts: list[str]) -> None:
    """A conversation of the workspace in which this was said."""
    cortext(tool, "new", "plan", "Long story")
    say(tool.project, heads(tool)[0]["conversation_id"], *texts)


def hasten(tool: Tool) -> None:
    """Our program as it would be if it ended at once when it has printed: Python takes its time
    to end, and whether a tool has read everything by then is a matter of luck."""
    folder = tool.root / "hasty"
    folder.mkdir()
    program = folder / "cortext"
    text = f"#!{sys.executable}\nimport os\nfrom cortext.cli.main import main\nos._exit(main())\n"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o700)
    tool.extra = {**tool.extra, "PATH": f"{folder}:{tool.extra['PATH']}"}


@contextmanager
def busy() -> Generator[None]:
    """A machine on which every program waits for its turn, so that a tool reads late."""
    spinning = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spinning) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def lost(texts: list[str], told: str) -> list[str]:
    """What of a whole briefing did not arrive: messages, its ends."""
    lines = {line.removeprefix("| ").rstrip() for line in told.splitlines()}
    found = [text for text in texts if text.rstrip() not in lines]
    return found + [end for end in ("[END HISTORY ", "[end cortext ") if end not in told]


@pytest.mark.parametrize("texts", [MIDDLING, LONG], ids=["middling", "long"])
@pytest.mark.parametrize("name", ["opencode", "gemini"])
def test_long_briefing_reaches_model_whole(name: str, texts: list[str], tmp_path: Path) -> None:
    """However fast our program ends, and however late the tool reads, the model is told
    everything up to the end."""
    with Stub(["Well."] * 9) as stub:
        tool = set_up(name, tmp_path / "root", stub.url)
        hasten(tool)
        told_of(tool, texts)
        with busy():
            for number in range(3):
                done = slash(tool, "workspace.resume", "long story")
                assert len(stub.asked) == number + 1, done
                assert lost(texts, heard(stub.asked[number])) == []


@pytest.mark.needs("tmux", "to have a screen")
@pytest.mark.parametrize("name", ["opencode", "gemini"])
def test_long_briefing_reaches_model_whole_in_terminal_screen(name: str, tmp_path: Path) -> None:
    """The same where the tool has a screen to draw meanwhile."""
    with Stub(["Well."] * 3) as stub:
        tool = set_up(name, tmp_path / "root", stub.url)
        hasten(tool)
        told_of(tool, LONG)
        with opened(tool) as terminal:
            told = send(terminal, stub, "workspace.resume", "long story")
    assert lost(LONG, told) == []


@pytest.mark.needs("tmux", "to have a screen")
def test_briefing_run_by_gemini_agent_reaches_model_whole(tmp_path: Path) -> None:
    """Gemini CLI gives the commands of the model a terminal too."""
    with Stub() as stub:
        tool = set_up("gemini", tmp_path / "root", stub.url)
        hasten(tool)
        told_of(tool, MIDDLING)
        stub.say(shell(tool, "cortext slash briefing 'long story'"), "Well.")
        with opened(tool) as terminal:
            terminal.type("Go on with the long story")
            terminal.shows("Go on with the long story")
            terminal.press("Enter")
            terminal.until(lambda: len(stub.asked) > 1)
    assert lost(MIDDLING, heard(stub.asked[1])) == ["[end cortext "]


@pytest.mark.parametrize("version", [version for name, version in PINNED if name == "claude"])
def test_long_briefing_reaches_claude_in_complete_parts(version: str, tmp_path: Path) -> None:
    """It takes 30,000 characters of what a command prints: each piece is whole, says that more
    follows and how to get it, and with the last the model has everything."""
    allowed = ["--allowedTools", "Bash(cortext slash:*)"]
    texts = [f"{text}@home" for text in LONG[:80]]
    with Stub(["Well."]) as stub:
        tool = set_up("claude", tmp_path / "root", stub.url, version)
        told_of(tool, texts)
        slash(tool, "workspace.resume", "long story")
        told = heard(stub.asked[-1])
        for _ in range(9):
            more = re.findall(r"run `(cortext slash briefing --rest \w+\.\d+)` in a shell", told)
            if not more or "[END HISTORY " in told:
                break
            stub.say(shell(tool, more[-1]), "Well.")
            tool.run("Go on.", resume=tool.sessions()[-1], options=allowed)
            told = heard(stub.asked[-1])
    assert lost(texts, told.replace("␛{40}", "@")) == ["[end cortext "]
