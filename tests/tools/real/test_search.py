"""What is said in the real tools is found, at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import cortext, ok
from tests.tools.real.four_tools import FOUR
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.mark.parametrize("name", FOUR)
def test_search_finds_new_messages_of_tool_after_each_turn(name: str, tmp_path: Path) -> None:
    """After each turn, what is new in it and what was there; `show --at` opens it there."""
    with Stub(["A giraffe, I think.", "Still a giraffe, not an okapi."]) as stub:
        tool = FOUR[name](tmp_path, stub.url)
        environment = {
            "HOME": str(tool.home),
            "XDG_DATA_HOME": str(tool.home / ".local/share"),
            "XDG_CONFIG_HOME": str(tool.home / ".config"),
            "XDG_CACHE_HOME": str(tool.home / ".cache"),
            "CI": "true",
        }

        def search(*words: str) -> list[dict[str, Any]]:
            done = cortext(tmp_path, "search", "--json", *words, env=environment)
            assert "Traceback" not in done.stderr
            return [hit for hit in json.loads(done.stdout) if hit["message"]]

        assert tool.run("Which animal is that?").code == 0
        (session,) = tool.sessions()
        (first,) = search("giraffe")
        assert (first["id"], first["tool"], first["role"]) == (session, name, "assistant")
        assert search("okapi") == []
        assert tool.run("Are you sure?", resume=session).code == 0
        assert first in search("giraffe")
        (second,) = search("okapi", "--tool", name, "--in", str(tool.project))
        assert second["text"] == "Still a giraffe, not an okapi."
        assert second["timestamp"] > first["timestamp"]
        at = str(second["message"])
        shown = ok(tmp_path, "show", session, "--at", at, "--stubs", env=environment)
    assert shown.split("◀\n", 1)[1].startswith("Still a giraffe, not an okapi.\n")
    assert "Are you sure?" in shown
