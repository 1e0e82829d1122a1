"""The real `cortext mcp` and a client that sends anything: each request is answered, the answer is
one of the protocol, and the next request is served."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.command import SCRIPT

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"},
}
DEEP = '{"jsonrpc":"2.0","id":71,"method":"x","params":{"a":' + "[" * 900 + "]" * 900 + "}}"


class Wire:
    """Lines to the server and back."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._id = 0

    def send(self, line: str) -> None:
        self._in.write(line + "\n")
        self._in.flush()

    def answer(self, id: int | None) -> dict[str, Any]:
        """The answer to a request; the test's own time limit ends one that never comes."""
        while line := self._out.readline():
            answer = json.loads(line)
            if "method" not in answer and answer["id"] == id:
                return answer
        raise AssertionError("the server ended")

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": given}
        self.send(json.dumps(request))
        return self.answer(self._id)

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=given)


@pytest.fixture
def wire(workspace: Path) -> Iterator[Wire]:
    process = subprocess.Popen(
        [SCRIPT, "mcp"],
        cwd=workspace,
        env=os.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        found = Wire(process)
        found.ask("initialize", **HELLO)
        found.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        yield found
        # It lives on, and was surprised by nothing.
        assert not found.call("search_workspace", query="cursors")["result"]["isError"]
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(30) == 0


MALFORMED = [
    ("no json", None, types.PARSE_ERROR),
    ("{", None, types.PARSE_ERROR),
    ('{"jsonrpc":"2.0","id":70,"method":"x","params":{"a":"\\ud800"}}', 70, types.PARSE_ERROR),
    (DEEP, 71, types.PARSE_ERROR),
    ('{"jsonrpc":"2.0","id":72,"method":"tools/call","params":[]}', 72, types.INVALID_REQUEST),
    ('{"jsonrpc":"1.0","id":73,"method":"tools/list"}', 73, types.INVALID_REQUEST),
    ('[{"jsonrpc":"2.0","id":74,"method":"tools/list"}]', None, types.INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":75}', None, types.INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":76,"method":"nothing/here"}', 76, types.METHOD_NOT_FOUND),
    ('{"jsonrpc":"2.0","id":77,"method":"tools/call"}', 77, types.INVALID_PARAMS),
    (
        '{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"rm","arguments":[]}}',
        78,
        types.INVALID_PARAMS,
    ),
    (
        '{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{"name":5}}',
        79,
        types.INVALID_PARAMS,
    ),
]


@pytest.mark.timeout(60)
def test_interrupt_stops_server_while_stdin_is_open(workspace: Path) -> None:
    """At once, although stdin stays open."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [SCRIPT, "mcp"], cwd=workspace, stdin=pipe, stdout=pipe, text=True
    ) as process:
        Wire(process).ask("initialize", **HELLO)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


@pytest.mark.timeout(120)
def test_malformed_request_gets_error_with_its_id(wire: Wire) -> None:
    """With its id where that can be told, so that nobody waits for an answer."""
    for line, id, code in MALFORMED:
        wire.send(line)
        assert (line[:80], wire.answer(id)["error"]["code"]) == (line[:80], code)


@pytest.mark.timeout(60)
def test_empty_line_and_unexpected_response_are_ignored(wire: Wire) -> None:
    """An error for an answer could be taken for the answer to a request of the client."""
    wire.send("")
    wire.send('{"jsonrpc":"2.0","id":1,"result":5}')
    wire.send('{"jsonrpc":"2.0","id":99,"result":{}}')
    assert [tool["name"] for tool in wire.ask("tools/list")["result"]["tools"]][:1] == [
        "search_workspace"
    ]


REFUSED = [
    ("search_workspace", {"query": "x", "limit": -1}, "expected `int` >= 1"),
    ("search_workspace", {"query": "x", "limit": 10**9}, "expected `int` <= 50"),
    ("search_workspace", {"query": "x", "limit": 10**400}, "expected `int` <= 50"),
    ("search_workspace", {"query": "x", "limit": 1.5}, "expected `int`, got `float`"),
    ("search_workspace", {"query": "x", "from": 0}, "expected `int` >= 1"),
    ("search_workspace", {"query": "x", "from": "1.2"}, "expected `int`, got `str`"),
    ("search_workspace", {"query": "x", "max_tokens": 99}, "expected `int` >= 100"),
    ("search_workspace", {"query": "x", "max_tokens": 10**9}, "expected `int` <= 50000"),
    ("search_workspace", {"query": "x", "id": "/etc/passwd"}, "session not found"),
    ("search_workspace", {"query": "x", "type": "../../"}, "there is no conversation type"),
    ("search_workspace", {"query": "x", "type": "\0"}, "there is no conversation type"),
    ("search_workspace", {"query": "x" * 1_000_000}, "of length <= 2000"),
    ("search_workspace", {"query": "x", "date_range": "9" * 100_000}, "is not a valid date range"),
    (
        "search_workspace",
        {"query": "x", "date_range": "last 99999999999 days"},
        "is not a valid date",
    ),
    ("search_workspace", {"query": "x", "date_range": "2026..2025"}, "ends before it begins"),
    ("search_workspace", {"query": "x", "all": "yes"}, "expected `bool`"),
    ("get_context", {"topic": "x", "max_results": 0}, "expected `int` >= 1"),
    ("get_decisions", {"topic": "x", "limit": 10**9}, "expected `int` <= 50"),
    ("list_conversations", {"status": "../"}, "invalid enum value"),
    ("list_conversations", {"limit": -1}, "expected `int` >= 1"),
    ("get_conversation", {"id": "001", "from": 10**30}, "it has 3 messages"),
    ("get_conversation", {"id": "001", "limit": 10**9}, "expected `int` <= 200"),
    ("get_conversation", {"id": "../../../../etc/passwd"}, "session not found"),
    ("get_conversation", {"id": "001-brainstorm-api-design/../../.."}, "session not found"),
    ("get_conversation", {"id": "/etc/passwd"}, "session not found"),
    ("get_conversation", {"id": "a\0b"}, "session not found: a␛{0}b"),
    ("get_conversation", {"id": "\u202eabc"}, "session not found: ␛{202E}abc"),
    ("resume_conversation", {"id": ".."}, "session not found"),
    ("save_conversation", {"id": "../..", "summary": "x"}, "session not found"),
]


@pytest.mark.timeout(120)
def test_invalid_tool_arguments_get_error_with_hint(wire: Wire) -> None:
    """Short, and with nothing in it that hides."""
    for name, given, sentence in REFUSED:
        result = wire.call(name, **given)["result"]
        said = result["content"][0]["text"]
        assert (name, result["isError"], sentence in said) == (name, True, True), said
        assert "\nhint: " in said
        assert len(said) < 1000
        assert said.replace("\n", "").isprintable()


@pytest.mark.timeout(60)
def test_search_accepts_odd_queries_as_plain_words(wire: Wire) -> None:
    """A regex bomb, signs of the query language, NUL."""
    for query in ("(a+)+$" * 333, "a* " * 600, '"a' * 900, "NEAR(a b)", "\0", "a\0b", " "):
        result = wire.call("search_workspace", query=query)["result"]
        assert not result["isError"], result["content"]


@pytest.mark.timeout(60)
def test_from_beyond_last_result_returns_empty_page(wire: Wire) -> None:
    result = wire.call("search_workspace", query="cursors", **{"from": 1_000_000})["result"]
    assert result["content"][0]["text"].startswith("No more results: 1 conversation")
    assert (result["structuredContent"]["hits"], result["structuredContent"]["next"]) == ([], None)
    result = wire.call("list_conversations", **{"from": 1_000_000})["result"]
    assert result["structuredContent"]["conversations"] == []


NOT_THERE = [
    ("resources/read", {"uri": "cortext://conversation/..%2f..%2fetc%2fpasswd"}),
    ("resources/read", {"uri": "cortext://conversation/%00"}),
    ("resources/read", {"uri": "cortext://[/x"}),
    ("resources/read", {"uri": "file:///etc/passwd"}),
    ("resources/list", {"cursor": "-1"}),
    ("prompts/get", {"name": "../stop-conversation"}),
    ("tools/call", {"name": "../search_workspace", "arguments": {}}),
    ("tools/call", {"name": "x" * 100_000, "arguments": {}}),
]


@pytest.mark.timeout(60)
def test_unknown_names_get_protocol_error_with_hint(wire: Wire) -> None:
    for method, given in NOT_THERE:
        error = wire.ask(method, **given)["error"]
        assert (method, error["code"]) == (method, types.INVALID_PARAMS)
        assert "\nhint: " in error["message"]
        assert len(error["message"]) < 1000
