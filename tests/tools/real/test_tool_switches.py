"""One conversation from tool to tool and back: each message once and in order, everywhere."""

from pathlib import Path

import pytest

from tests.tools.real.commands import slash
from tests.tools.real.machine import Machine, conversation, kept, missing, times_told
from tests.tools.real.record import repository
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("git", "to have a repository"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
ROUTE = ("gemini", "claude", "codex", "opencode", "claude")


def test_conversation_keeps_each_message_once_across_tool_switches(tmp_path: Path) -> None:
    """Begun in Claude Code with `/workspace.brainstorm`, two turns in each tool on the way."""
    with Stub(seconds=600, requests=1000) as stub:
        machine = Machine(tmp_path / "root", stub)
        repository(machine.project)
        machine.ok("init")
        machine.ok("setup", "--yes")
        machine.consent()
        claude = machine.tools["claude"]
        stub.say("What is fixed?")
        slash(claude, "workspace.brainstorm", "Speed of the parser")
        stub.say("Answer 0 in claude.")
        claude.run("Question 0 in claude", resume=claude.sessions()[0])
        said = [("user", "Question 0 in claude"), ("assistant", "Answer 0 in claude.")]
        key = conversation(machine).parent.name
        for number, name in enumerate(ROUTE, 1):
            said = hop(machine, key, f"{number} in {name}", said)
        machine.ok("stop", key)
        assert [each for each in kept(machine) if each in said] == said
        assert machine.ok("doctor").endswith("no problems found\n")


def hop(
    machine: Machine, key: str, label: str, said: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Stopped, resumed in another tool, and two things said there, the second by the tool's own
    resume: the model gets all that was said before, once. All that is said by then."""
    stub, name = machine.stub, label.split()[-1]
    machine.ok("stop", key)
    line = machine.line(key, "--tool", name)
    stub.say(f"Opening {label}.")
    opened = machine.headless(line, f"Opening {label}, please")
    assert opened.code == 0, opened
    stub.say(f"Answer {label}.")
    done = machine.tools[name].run(f"Question {label}", resume=line.words[2])
    assert done.code == 0, done
    told = [*said, ("user", f"Question {label}")]
    assert missing(told, stub.asked[-1]) == []
    assert [text for _, text in told if times_told(text, stub.asked[-1]) != 1] == []
    return [*told, ("assistant", f"Answer {label}.")]
