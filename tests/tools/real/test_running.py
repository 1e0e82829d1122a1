"""A session that is open in the real OpenCode is known to be live, also one that it began."""

import json
from pathlib import Path

import pytest

from tests.tools.real.commands import cortext, set_up
from tests.tools.real.four_tools import OpenCode
from tests.tools.real.launch import Tool
from tests.tools.real.screens import new_session, opened, say
from tests.tools.real.stub import Stub
from tests.tools.real.terminal import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
    pytest.mark.needs("tmux", "to have a screen"),
]


def live(tool: Tool) -> list[str]:
    """The sessions that a list shows as active."""
    rows = json.loads(cortext(tool, "list", "--json"))
    return [row["id"] for row in rows if row["status"] == "active"]


def test_only_current_session_of_running_opencode_is_live(tmp_path: Path) -> None:
    """Not what was had there before, nor what the same process has left for a new one; nothing
    is once it has ended."""
    with Stub() as stub:
        tool = set_up("opencode", tmp_path / "root", stub.url)
        assert isinstance(tool, OpenCode)
        stub.say("Long ago.")
        assert tool.run("Hello before").code == 0
        with opened(tool) as terminal:
            assert live(tool) == []
            say(terminal, stub, "Hello there", "First answer.")
            (begun,) = set(tool.sessions()[1:])
            assert live(tool) == [begun]
            new_session(terminal)
            say(terminal, stub, "Hello again", "Second answer.")
            (second,) = set(tool.sessions()[2:])
            assert live(tool) == [second]
        gone(terminal, tool)


def gone(terminal: Terminal, tool: Tool) -> None:
    """The process was ended; the system may need a moment to say so."""
    terminal.until(lambda: live(tool) == [])
