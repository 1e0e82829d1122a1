"""What is said in the real tools is in the list, at once."""

import json
from pathlib import Path

import pytest

from tests.command import ok
from tests.tools.real.four_tools import FOUR
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.mark.parametrize("name", FOUR)
def test_list_and_show_follow_tool_session_after_each_turn(name: str, tmp_path: Path) -> None:
    """After each turn its time is later, it is listed once, found by what was said, and shown."""
    with Stub(["A giraffe, I think.", "Still a giraffe."]) as stub:
        tool = FOUR[name](tmp_path, stub.url)
        environment = {
            "HOME": str(tool.home),
            "XDG_DATA_HOME": str(tool.home / ".local/share"),
            "XDG_CONFIG_HOME": str(tool.home / ".config"),
            "CI": "true",
        }

        def run(*command: str) -> str:
            return ok(tool.project, *command, env=environment)

        assert tool.run("Which animal is that?").code == 0
        (session,) = tool.sessions()
        (first,) = json.loads(run("list", "--json"))
        assert (first["id"], first["tool"], first["cwd"]) == (session, name, str(tool.project))
        assert tool.run("Are you sure?", resume=session).code == 0
        (second,) = json.loads(run("list", "--json"))
        assert second["last_active"] > first["last_active"]
        assert second["title"] == first["title"]
        shown = run("show", "still giraffe")
    assert shown.index("Which animal") < shown.index("I think") < shown.index("Are you sure")
