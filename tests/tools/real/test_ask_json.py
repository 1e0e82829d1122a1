"""`cortext ask --json` with the real tools: what each reports of the turn."""

import json
from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine
from tests.tools.real.record import repository
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
ANSWER = "You asked for\n\na `file`: 日本 🎉"


@pytest.mark.parametrize("name", FOUR)
def test_ask_json_reports_answer_session_and_tokens(name: str, tmp_path: Path) -> None:
    """The words as the model said them, an id that is not the old session's, and the tokens that
    the tool counted."""
    with Stub(["As you say."], aside=ANSWER) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        tool = machine.tools[name]
        repository(machine.project)
        assert tool.run("Make a file.").code == 0
        (id,) = tool.sessions()
        stub.say(ANSWER)
        told = json.loads(machine.ok("ask", id, "What did I ask?", "--json"))
        assert list(told) == ["answer", "tool", "conversation_id", "session_id", "usage"]
        assert (told["answer"], told["tool"], told["conversation_id"]) == (ANSWER, name, id)
        assert told["session_id"] not in (None, id)
        assert told["usage"]["input_tokens"] > 0
        assert told["usage"]["output_tokens"] > 0
