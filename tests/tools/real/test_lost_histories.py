"""The tools' histories and the catalog are gone, and every conversation is still there."""

import json
import shutil
from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.launch import Tool
from tests.tools.real.machine import Machine, missing, times_told
from tests.tools.real.record import converse
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
WORDS = "cache hourly"
"""What only the middle of the conversation says: no title has it."""


@pytest.mark.parametrize("name", FOUR)
def test_archived_conversation_resumes_after_tool_history_is_deleted(
    name: str, tmp_path: Path
) -> None:
    """Archived, then deleted by the tool: listed, found by what was said, shown, and resumed in
    a session of the tool's own, in which the model gets all of it."""
    with Stub(seconds=600) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        tool = machine.tools[name]
        said = converse(tool, stub)
        (id,) = tool.sessions()
        assert id in machine.ok("list", "--json")
        machine.ok("sync")
        forget(tool)
        forget_catalog(machine)

        (row,) = json.loads(machine.ok("list", "--json"))
        assert (row["id"], row["tool"]) == (id, name)
        shown = machine.ok("show", WORDS)
        assert [text for _, text in said if text.split("\n")[0] not in shown] == []

        line = machine.line(WORDS, "--tool", name)
        stub.say("Going on.")
        before = len(stub.asked)
        done = machine.headless(line, "Where were we?")
        assert done.code == 0, done
        body = stub.asked[before]
        assert missing([*said, ("user", "Where were we?")], body) == []
        assert [text for _, text in said if times_told(text, body) != 1] == []
        again = machine.line(WORDS, "--tool", name)
        assert again.words[2] == line.words[2]


def forget(tool: Tool) -> None:
    """As a tool's clean-up does, only all of it: no session is left, its settings are."""
    if tool.name == "opencode":
        shutil.rmtree(tool.store)
        return
    for path in tool.transcripts():
        path.unlink()
    assert tool.sessions() == []


def forget_catalog(machine: Machine) -> None:
    found = list((machine.root / "home/.cache/cortext").glob("catalog.sqlite3*"))
    assert found
    for path in found:
        path.unlink()
