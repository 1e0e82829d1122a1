"""Our MCP tools as each real AI tool shows them to its model.

`mcp_seen.txt` is that, in short: the name that a model calls, its arguments, and the beginning of
the description. The test writes what it saw beside it when that is another.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.tool_names import TOOLS
from tests.tools.real.commands import heard, set_up
from tests.tools.real.mcp_calls import asks, run
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
SEEN = Path(__file__).with_name("mcp_seen.txt")
NAMES = ("claude", "opencode", "gemini", "codex")


@pytest.mark.parametrize("name", NAMES)
def test_model_is_shown_each_mcp_tool_with_all_arguments(name: str, tmp_path: Path) -> None:
    """By the request that follows the first call, when every tool knows the server. Claude Code
    shows the names alone, and the rest of those that its model asks for."""
    with Stub() as stub:
        tool = set_up(name, tmp_path / "root", stub.url)
        first = asks(name, "list_conversations")
        if name == "claude":
            names = ",".join(f"mcp__cortext__{each}" for each in TOOLS)
            first = Call("ToolSearch", {"query": f"select:{names}"})
        stub.say(first, "Nothing yet.")
        done = run(tool, "What did we talk about?")
        assert "Nothing yet." in done.stdout, done.stderr
        lines = [f"## {name}", *sorted(shown(stub.asked[-1]))]
    assert len(lines) == len(TOOLS) + 1
    text = "\n".join(lines) + "\n"
    (tmp_path / "seen.txt").write_text(text, encoding="utf-8")
    assert text in SEEN.read_text(encoding="utf-8"), f"{tmp_path}/seen.txt is what it saw"


def test_mcp_tools_accept_wait_for_previous_argument_of_gemini(tmp_path: Path) -> None:
    """Its models may say `wait_for_previous` to any tool; ours take nothing that is unknown."""
    with Stub() as stub:
        tool = set_up("gemini", tmp_path / "root", stub.url)
        call = asks("gemini", "search_workspace", query="zanzibar", wait_for_previous=True)
        stub.say(call, "Nothing yet.")
        done = run(tool, "What did we talk about?")
        assert "Nothing yet." in done.stdout, done.stderr
        told = heard(stub.asked[-1])
    assert "Nothing was found." in told
    assert "unknown field" not in told


def shown(body: Any) -> Iterator[str]:
    """A line for each of our tools in a request, wherever it stands in it."""
    if isinstance(body, list):
        for each in body:
            yield from shown(each)
    elif isinstance(body, dict):
        name, given = body.get("name"), schema(body)
        if isinstance(name, str) and name.endswith(tuple(TOOLS)) and given is not None:
            arguments = ", ".join(given["properties"])
            yield f"{name}({arguments}): {body.get('description', '')[:60]}".rstrip()
        else:
            for each in body.values():
                yield from shown(each)


def schema(tool: dict[str, Any]) -> dict[str, Any] | None:
    """What a tool takes, under the name that it has there."""
    for key in ("input_schema", "parameters", "parametersJsonSchema", "inputSchema"):
        if isinstance(tool.get(key), dict) and "properties" in tool[key]:
            return tool[key]
    return None
