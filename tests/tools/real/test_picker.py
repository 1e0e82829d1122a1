"""`cortext` alone in a terminal, with the real tools: picked, reopened, left, and kept."""

from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine
from tests.tools.real.record import repository
from tests.tools.real.resumed_tool import pick
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("tmux", "to have a terminal"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.mark.parametrize("name", [name for name in FOUR if name != "codex"])
def test_picker_enter_opens_tool_and_its_exit_returns_to_shell(name: str, tmp_path: Path) -> None:
    """Found by words that were said in it; the tool has the terminal and the whole history, and
    what is said there is in the conversation."""
    with Stub(["The first answer.", "The second answer.", "The third answer."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        repository(machine.project)
        pick(machine, stub, name)
