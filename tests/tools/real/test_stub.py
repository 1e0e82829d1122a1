"""The stub answers by its script in each API's own form, and stops by itself."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.tools.real.request_messages import spoken
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call, Reply

READ = Call("read", {"path": "a"})
TOOLS = {"tools": [{"name": "read"}]}
# Each conversation says the same: a question, a call and its result, an answer, a question.
BODIES: dict[str, dict[str, Any]] = {
    "/v1/messages?beta=true": {
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "A"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
            {"role": "user", "content": "three"},
        ]
    },
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": "one"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "read", "arguments": "{}"}}],
            },
            {"role": "tool", "content": "A"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": [{"type": "text", "text": "three"}]},
        ]
    },
    "/v1/responses": {
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
            {"type": "function_call", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "output": "A"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
            {"role": "user", "content": [{"type": "input_text", "text": "three"}]},
        ]
    },
    "/v1beta/models/m:generateContent": {
        "contents": [
            {"role": "user", "parts": [{"text": "one"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"response": "A"}}]},
            {"role": "model", "parts": [{"text": "two"}]},
            {"role": "user", "parts": [{"text": "three"}]},
        ]
    },
}
SAID = [("user", "one"), ("call", "read {}"), ("assistant", "two"), ("user", "three")]


def post(stub: Stub, path: str, body: dict[str, Any]) -> str:
    data = json.dumps(body).encode()
    request = urllib.request.Request(stub.url + path, data=data, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def status(stub: Stub, path: str) -> int:
    try:
        with urllib.request.urlopen(stub.url + path, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_stub_answers_by_script_in_every_api(path: str, stream: bool) -> None:
    """A call, then a text; the log has what was asked, in order."""
    script: list[Reply] = [READ, "An answer."]
    if stream:
        path = path.replace(":generateContent", ":streamGenerateContent")
    with Stub(script) as stub:
        first, second = (
            post(stub, path, {**TOOLS, "stream": stream, "n": n}) for n in range(len(script))
        )
    assert ("data: " in first) == stream
    assert '"read"' in first
    assert "path" in first
    assert "An answer." in second
    assert [body["n"] for body in stub.asked] == [0, 1]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_spoken_returns_same_texts_for_every_api(body: dict[str, Any]) -> None:
    """Tests compare conversations, not wire forms."""
    found = spoken(body)
    assert [said for said in found if said[0] != "result"] == SAID
    assert [text.strip('"') for role, text in found if role == "result"] == ["A"]


def test_stub_request_without_tools_consumes_no_reply() -> None:
    """A title that a tool asks for by itself must not take the answer to a question."""
    with Stub(["An answer."], aside="A title") as stub:
        assert "A title" in post(stub, "/v1/messages", {"messages": []})
        assert "input_tokens" in post(stub, "/v1/messages/count_tokens", TOOLS)
        assert "An answer." in post(stub, "/v1/messages", TOOLS)
        assert "The script is over." in post(stub, "/v1/messages", TOOLS)
    assert stub.asked == [TOOLS, TOOLS]


def test_stub_answers_unknown_path_with_404_and_logs_path() -> None:
    """What a tool asks of the world is seen."""
    with Stub() as stub:
        assert status(stub, "/telemetry") == 404
    assert stub.unknown == ["GET /telemetry"]


def test_stub_stops_after_its_number_of_requests() -> None:
    """A tool that retries for ever gets no answer from the script."""
    with Stub(requests=1) as stub:
        assert [status(stub, "/x"), status(stub, "/x")] == [404, 503]
    assert len(stub.log) == 1


def test_stub_stops_after_its_time() -> None:
    """Whoever forgets it leaves no server behind."""
    with Stub(seconds=0.05) as stub:
        stub._thread.join(30)
        assert not stub._thread.is_alive()
