"""A conversation begun in each tool goes on in each tool: the model gets all that was said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tools.four import FOUR
from tests.tools.machine import Machine, missing, times_told
from tests.tools.record import Said, converse
from tests.tools.spoken import of_role, spoken
from tests.tools.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
COMMAND = "brainstorm"
BLOCK, END = "[RESUMED CONVERSATION]", "[END RESUMED CONTEXT]"


class Begun(NamedTuple):
    """A workspace conversation that was had in one tool."""

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
        said = converse(tool, stub)
        machine.ok("init")
        machine.ok("setup", "--yes")
        machine.consent()
        made = Path(machine.ok("new", COMMAND, "Speed of the parser").strip())
        head = made.parent / ".session/session.json"
        value = json.loads(head.read_text(encoding="utf-8"))
        (id,) = tool.sessions()
        value["native"] = [{"tool": name, "session_id": id, "path": "", "from": "", "to": ""}]
        head.write_text(json.dumps(value), encoding="utf-8")
        yield Begun(machine, made.parent.name, said)


@pytest.mark.parametrize("name", FOUR)
def test_it_goes_on_in_every_tool(begun: Begun, name: str) -> None:
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
    check_opening(name, body)
    again = machine.line(begun.key, "--tool", name)
    assert session_in(again.words) == session_in(line.words)


def session_in(words: list[str]) -> str:
    """The tool's session that a command line names."""
    return words[2]


def check_opening(name: str, body: dict[str, object]) -> None:
    """Command and block, where each tool has a place for them: after the history, or as
    instructions."""
    text = (Path(__file__).parents[2] / f"src/cortext/builtin/commands/{COMMAND}.md").read_text()
    first = next(line for line in text.split("\n") if line and not line.startswith("#"))
    if name == "opencode":
        (system,) = of_role("system", body)
        assert [text for text in (first, BLOCK, END) if text not in system] == []
        return
    said = [text for role, text in spoken(body) if role == "user"]
    (place,) = [number for number, text in enumerate(said) if BLOCK in text]
    assert [text for text in (first, BLOCK, END) if text not in said[place]] == []
    assert place >= len(said) - 4, said
