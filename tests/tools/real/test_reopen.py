"""`cortext resume` in a terminal, with the real tools: reopened, talked to, left, and kept."""

import json
from pathlib import Path

import pytest

from cortext import SessionMessage, open_session_store
from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine, missing
from tests.tools.real.record import repository
from tests.tools.real.resumed_tool import LEAVE, SAID, Shell, agree, say
from tests.tools.real.screens import enter
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("tmux", "to have a terminal"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.mark.parametrize("name", FOUR)
def test_resume_in_terminal_shows_history_and_captures_new_messages(
    name: str, tmp_path: Path
) -> None:
    """The history is on the screen and reaches the model; what is said is in the conversation
    when the tool has ended, once."""
    with Stub(["The first answer.", "The second answer.", "The third answer."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        tool = machine.tools[name]
        repository(machine.project)
        agree(machine)
        machine.ok("init")
        made = Path(machine.ok("new", "plan", "Speed").strip()).parent
        messages = [SessionMessage(role, text) for role, text in SAID]  # type: ignore[arg-type]
        open_session_store(f"workspace:{machine.project}").append(made.name, *messages)
        extra = ["--", "--no-daemon"] if name == "codex" else []
        with Shell(tool, ["resume", made.name, "--tool", name, *extra]) as shell:
            shell.shows("How fast is it?", "Because it is small.", seconds=60)
            assert "[RESUMED CONVERSATION]" not in shell.screen
            say(shell, "What is next?")
            shell.shows("The first answer.")
            say(shell, LEAVE[name])
            screen = shell.shows(f"{Shell.ENDED} 0")
            assert f"2 new messages saved in {made.name}" in screen
    (body,) = stub.asked
    assert missing([*SAID, ("user", "What is next")], body) == []
    assert "[RESUMED CONVERSATION]" in json.dumps(body)
    lines = (made / ".session/messages.jsonl").read_text(encoding="utf-8").splitlines()
    said = [(each["role"], each["content"]) for each in map(json.loads, lines)]
    assert said[:4] == SAID
    assert [role for role, _ in said[4:]] == ["user", "assistant"]
    assert said[5][1] == "The first answer."


def test_resume_of_new_conversation_in_codex_sends_command_text(tmp_path: Path) -> None:
    """Codex has no commands of ours: what we write tells it what it is to do, and what is said is
    the conversation."""
    with Stub(["Which question?"]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=["codex"])
        repository(machine.project)
        agree(machine)
        machine.ok("init")
        made = Path(machine.ok("new", "brainstorm", "Speed").strip()).parent
        words = ["resume", made.name, "--tool", "codex", "--", "--no-daemon"]
        with Shell(machine.tools["codex"], words) as shell:
            shell.shows("· Sp", seconds=60)
            shell.type("Let us begin")
            shell.shows("Let us begin")
            enter(shell, lambda: bool(stub.asked))
            shell.shows("Which question?")
            say(shell, LEAVE["codex"])
            shell.shows(f"{Shell.ENDED} 0")
    (body,) = stub.asked
    told = json.dumps(body)
    assert ("# Brainstorm" in told, "[RESUMED CONVERSATION]" in told) == (True, True)
    lines = (made / ".session/messages.jsonl").read_text(encoding="utf-8").splitlines()
    said = [(each["role"], each["content"]) for each in map(json.loads, lines)]
    assert said == [("user", "Let us begin"), ("assistant", "Which question?")]
