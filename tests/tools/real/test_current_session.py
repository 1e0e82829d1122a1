"""A program that an agent starts knows which session of which tool it runs in."""

import sys
from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.launch import Tool
from tests.tools.real.shell_calls import SHELL
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

ASK = (
    "import sys; from cortext.tools.surrounding_session import here; print(*here()[:2], sep='\\n')"
)


def told(tool: Tool, stub: Stub, resume: str = "") -> list[str]:
    """What a program says that the tool's agent starts in one turn."""
    name, key, options = SHELL[tool.name]
    script, answer = tool.root / "ask.py", tool.root / "answer"
    script.write_text(ASK, encoding="utf-8")
    answer.unlink(missing_ok=True)
    given = {key: f"{sys.executable} {script} > {answer}", "description": "Ask"}
    stub.say(Call(name, given), "Asked.")
    if tool.name == "codex":
        tool.configure(tool.project)
        arguments, prompt = tool.turn("Ask.", resume)
        done = tool.start([arguments[0], *options, *arguments[1:]], given=prompt)
    else:
        done = tool.run("Ask.", resume=resume, options=options)
    assert done.code == 0, done
    return answer.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUR)
def test_program_started_by_agent_knows_tool_and_session(name: str, tmp_path: Path) -> None:
    """In a new session, and in one that is gone on with while a later one exists."""
    with Stub() as stub:
        tool = FOUR[name](tmp_path, stub.url)
        first = told(tool, stub)
        (session,) = tool.sessions()
        assert first == [name, f"('{session}',)"]
        stub.say("Another one.")
        assert tool.run("Something else.").code == 0
        assert len(tool.sessions()) == 2
        assert told(tool, stub, resume=session) == [name, f"('{session}',)"]
