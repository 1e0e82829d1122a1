"""A conversation begun in each tool goes on in each tool: the model gets all that was said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.tools.real.commands import TOOLS, slash
from tests.tools.real.four_tools import FOUR
from tests.tools.real.launch import Tool
from tests.tools.real.machine import Machine, conversation, kept, missing, times_told
from tests.tools.real.record import READ, TURNS, Said, repository, say
from tests.tools.real.request_messages import of_role, spoken
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call, Reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
COMMAND = "brainstorm"
BLOCK, END = "[RESUMED CONVERSATION]", "[END RESUMED CONTEXT]"


class Begun(NamedTuple):
    """A workspace conversation that was had in one tool."""

    tool: str
    session: str
    machine: Machine
    key: str
    said: Said


@pytest.fixture(scope="module", params=list(FOUR))
def begun(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Begun]:
    name: str = request.param
    with Stub(seconds=1200, requests=1000) as stub:
        machine = Machine(tmp_path_factory.mktemp(name) / "root", stub)
        tool = machine.tools[name]
        machine.ok("init")
        machine.ok("setup", "--yes")
        machine.consent()
        repository(machine.project)
        stub.say("What is fixed?")
        if name in TOOLS:
            slash(tool, f"workspace.{COMMAND}", "Speed of the parser")
        else:  # it has no commands: its session is made a conversation
            assert tool.run("Speed of the parser").code == 0
            machine.ok("import", tool.sessions()[0])
        (session,) = tool.sessions()
        said = talk(tool, stub, session)
        yield Begun(name, session, machine, conversation(machine).parent.name, said)


def talk(tool: Tool, stub: Stub, session: str) -> Said:
    """Six turns in the session that was begun, with a tool call."""
    said: Said = []
    for number, (prompt, answer) in enumerate(TURNS):
        replies: list[Reply] = [answer]
        if number == 2:
            call = READ[tool.name]
            given = {key: text.format(project=tool.project) for key, text in call.input.items()}
            replies = [Call(call.name, given), answer]
        say(tool, stub, prompt, replies, session)
        said += [("user", prompt), ("assistant", answer)]
    return said


def test_conversation_is_captured_word_for_word_in_every_tool(begun: Begun) -> None:
    """By the hooks alone, where the tool waits for them; else by a stop: OpenCode has none, and
    what Codex notifies ends with it here. Taken again, the file is the same."""
    machine = begun.machine
    if begun.tool in ("opencode", "codex"):
        machine.ok("stop", begun.key)
    assert [each for each in kept(machine) if each in begun.said] == begun.said
    assert any("notes.txt" in str(calls) for calls in calls_in(machine))
    before = (conversation(machine) / "messages.jsonl").read_bytes()
    for _ in range(2):
        machine.ok("stop", begun.key)
        assert (conversation(machine) / "messages.jsonl").read_bytes() == before


def calls_in(machine: Machine) -> list[Any]:
    lines = (conversation(machine) / "messages.jsonl").read_bytes().split(b"\n")
    return [json.loads(line).get("tool_calls") for line in lines if line]


@pytest.mark.parametrize("name", FOUR)
def test_conversation_resumes_in_every_tool_with_whole_history(begun: Begun, name: str) -> None:
    """Every user message and every answer, in order and once; then command and block."""
    machine, stub = begun.machine, begun.machine.stub
    line = machine.line(begun.key, "--tool", name)
    before = len(stub.asked)
    stub.say(f"Going on in {name}.")
    done = machine.headless(line, "Where were we?")
    assert done.code == 0, done
    body = stub.asked[before]
    assert missing(begun.said, body) == []
    assert [text for _, text in begun.said if times_told(text, body) != 1] == []
    # A chat has no command, and Codex no place for a block in a session of its own.
    if name != "codex" or session_in(line.words) != begun.session:
        check_opening(name, body, begun.said, has_command="-chat-" not in begun.key)
    again = machine.line(begun.key, "--tool", name)
    assert session_in(again.words) == session_in(line.words)


def session_in(words: list[str]) -> str:
    """The tool's session that a command line names."""
    return words[2]


def check_opening(name: str, body: dict[str, Any], said: Said, *, has_command: bool) -> None:
    """Command and block, where each tool has a place for them: as instructions, or after the
    history and before what the person says next. A chat has no command."""
    text = (Path(__file__).parents[3] / f"src/cortext/builtin/commands/{COMMAND}.md").read_text()
    first = next(line for line in text.split("\n") if line and not line.startswith("#"))
    wanted = [*([first] if has_command else []), BLOCK, END]
    if name == "opencode":
        (system,) = of_role("system", body)
        assert [text for text in wanted if text not in system] == []
        return
    told = [text for role, text in spoken(body) if role in ("user", "assistant")]
    (place,) = [number for number, text in enumerate(told) if BLOCK in text]
    assert [text for text in wanted if text not in told[place]] == []
    later = "\n".join(told[place + 1 :])
    assert [text for _, text in said if text in later] == []
