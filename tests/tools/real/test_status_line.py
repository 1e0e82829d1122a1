"""Our status line on the screen of the real Claude Code."""

import re
from pathlib import Path

import pytest

from tests.tools.real.install import PACKAGES
from tests.tools.real.machine import Machine
from tests.tools.real.screens import keep, opened, say
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
    pytest.mark.needs("tmux", "to have a screen"),
]
WHOLE = re.compile(
    r"session \$\d+\.\d\d \| today \$\d+\.\d\d\+? \| block \$\d+\.\d\d\+?, [45] h \d\d min left"
)


@pytest.mark.parametrize("version", PACKAGES["claude"].versions)
def test_status_line_is_on_the_screen(version: str, tmp_path: Path) -> None:
    """At once with the cost of the session, and later with what the background process counted."""
    with Stub() as stub:
        machine = Machine(tmp_path, stub, tools=["claude"])
        claude = machine.tools["claude"]
        claude.version = version
        machine.ok("setup", "--tools", "claude", "--yes", "--statusline")
        with opened(claude) as terminal:
            terminal.shows("session $0.00")
            say(terminal, stub, "Which database?", "SQLite.")
            screen = terminal.until(lambda: WHOLE.search(terminal.screen) is not None, seconds=90)
            keep(f"statusline-{version}", screen)
