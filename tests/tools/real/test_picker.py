"""`cortext` alone in a terminal, with the real tools: picked, reopened, left, and kept."""

import json
from pathlib import Path

import pytest

from cortext import SessionMessage, open_session_store
from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine, missing
from tests.tools.real.record import repository
from tests.tools.real.stub import Stub
from tests.tools.real.test_reopen import LEAVE, SAID, Shell, agree, say

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("tmux", "to have a terminal"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


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
        shell.shows("said in these", "Because it is small.", "1 of 2")
        shell.press("Enter")
        shell.until(lambda: "said in these" not in shell.screen)
        shell.shows("How fast is it?", "Because it is small.", seconds=60)
        say(shell, "What is next?")
        shell.shows("The first answer.")
        say(shell, LEAVE[name])
        screen = shell.shows(f"{Shell.ENDED} 0")
        assert f"2 new messages of it kept in {made.name}" in screen
    (body,) = stub.asked
    assert missing([*SAID, ("user", "What is next")], body) == []
    lines = (made / ".session/messages.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[-1])["content"] == "The first answer."


@pytest.mark.parametrize("name", [name for name in FOUR if name != "codex"])
def test_enter_opens_the_tool_and_its_exit_returns_to_the_shell(name: str, tmp_path: Path) -> None:
    """Found by words that were said in it; the tool has the terminal and the whole history, and
    what is said there is in the conversation."""
    with Stub(["The first answer.", "The second answer.", "The third answer."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        repository(machine.project)
        pick(machine, stub, name)
