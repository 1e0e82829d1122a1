"""Turns that nobody sees: how tools are started for them, and what their streams say."""

import json
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import CortextError
from cortext.tools.headless_runs import speech_of, turn_notes, turn_plan
from cortext.tools.registry import tool_names
from cortext.tools.tool_output_parsers import Speech

BYPASS = ("dangerous", "bypass", "yolo", "skip", "auto", "trust", "full-access", "approve")
OFF = ("--setting-sources", "user", "--strict-mcp-config")


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)


def delta(text: str, parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


BLOCK = {"type": "stream_event", "event": {"type": "content_block_start"}}
SAID = "One 🎉.\n\nTwo."


def gemini(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params}


def codex(item: str, text: str, thread: str = "t") -> dict[str, Any]:
    return told("item/agentMessage/delta", threadId=thread, itemId=item, delta=text)


def opencode(message: str, text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": message, "content": content}
    return told("session/update", sessionId="ses_1", update=update)


USAGE = {"tokenUsage": {"total": {"outputTokens": 7}}}
STREAMS: dict[str, bytes] = {
    "claude": lines(
        {"type": "system", "subtype": "init"},
        BLOCK,
        delta("One "),
        delta("not said", parent="toolu_1"),
        delta("🎉."),
        BLOCK,
        delta("Two."),
        {"type": "result", "is_error": False, "result": "Two.", "usage": {"output_tokens": 7}},
    ),
    "gemini": lines(
        {"type": "init", "session_id": "s-1"},
        {"type": "message", "role": "user", "content": "not said"},
        gemini("One "),
        gemini("🎉."),
        {"type": "tool_use", "tool_name": "read_file"},
        gemini("Two."),
        {"type": "result", "status": "success", "stats": {"output_tokens": 7}},
    ),
    "codex": lines(
        {"id": 0, "result": {}},
        {"id": 1, "result": {"thread": {"id": "t"}}},
        codex("a", "One "),
        codex("a", "not said", thread="of a sub-agent"),
        codex("a", "🎉."),
        told("item/completed", item={"type": "agentMessage", "id": "a", "text": "One 🎉."}),
        told("item/completed", item={"type": "agentMessage", "id": "b", "text": "Two."}),
        told("thread/tokenUsage/updated", threadId="t", **USAGE),
        told("turn/completed", threadId="t", turn={"status": "completed", "error": None}),
    ),
    "opencode": lines(
        {"id": 0, "result": {}},
        {"id": 1, "result": {"sessionId": "ses_1"}},
        opencode("a", "One "),
        opencode("a", "🎉."),
        opencode("b", "Two."),
        {"id": 2, "result": {"stopReason": "end_turn", "usage": {"outputTokens": 7}}},
    ),
}


def heard(speech: Speech, data: bytes, size: int) -> tuple[str, list[dict[str, Any]]]:
    """The text of a stream that comes in blocks of a size, and what was replied."""
    speech.opening("Hello")
    said, replies = "", b""
    for start in range(0, len(data), size):
        text, reply = speech.hear(data[start : start + size])
        said, replies = said + text, replies + reply
    return said + speech.hear(b"").text, [json.loads(line) for line in replies.splitlines()]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("tool", tool_names())
def test_speech_extracts_answer_and_tokens_from_stream_in_any_blocks(tool: str, size: int) -> None:
    """However a stream is cut, the answer is the person's part of it, with its tokens."""
    speech = speech_of(tool, cwd="/")
    said, _ = heard(speech, STREAMS[tool], size)
    assert (said, speech.tokens, speech.over, speech.problem) == (SAID, 7, True, "")


@pytest.mark.parametrize("tool", tool_names())
def test_speech_ignores_lines_that_are_not_events(tool: str) -> None:
    """Warnings, empty lines, other values and unknown events among the lines hide nothing."""
    noise = (
        b'a warning\n\n[1]\nnull\n{"type":"new"}\n{"method":"new","params":3}\n{"id":99,"x":1}\n'
    )
    first, rest = STREAMS[tool].split(b"\n", 1)
    speech = speech_of(tool, cwd="/")
    assert heard(speech, noise + first + b"\n" + noise + rest, 1000)[0] == SAID


def test_speech_of_unknown_program_is_its_plain_output() -> None:
    """A character that is cut in two is one; what is no UTF-8 is shown as such."""
    speech = speech_of("", cwd="/")
    data = "ünï 🎉\r\n{}".encode() + b"\xff\xc3"
    assert heard(speech, data, 1)[0] == "ünï 🎉\r\n{}\ufffd\ufffd"


FAILED: dict[str, bytes] = {
    "claude": lines({"type": "result", "is_error": True, "result": "No credit."}),
    "gemini": lines({"type": "result", "status": "error", "error": {"message": "No credit."}}),
    "codex": lines(
        {"id": 1, "result": {"thread": {"id": "t"}}},
        told(
            "turn/completed",
            threadId="t",
            turn={"status": "failed", "error": {"message": "No credit."}},
        ),
    ),
    "opencode": lines({"id": 0, "error": {"code": -1, "message": "No credit."}}),
}


@pytest.mark.parametrize("tool", tool_names())
def test_speech_reports_problem_that_tool_states(tool: str) -> None:
    """Its own words are the problem."""
    speech = speech_of(tool, cwd="/")
    speech.opening("Hello")
    if tool == "codex":
        speech.hear(lines({"id": 0, "result": {}}))
    said = speech.hear(FAILED[tool]).text
    assert (said, speech.problem, speech.over) == ("", "No credit.", True)


def test_codex_turn_is_ephemeral_and_requests_no_policy() -> None:
    """Nothing is kept, nothing is loosened: no policy, no sandbox, no approval is asked for."""
    speech = speech_of("codex", cwd="/p", model="m-1")
    _, replies = heard(speech, STREAMS["codex"], 1000)
    assert [(each["method"], each.get("params")) for each in replies] == [
        ("initialized", None),
        ("thread/start", {"cwd": "/p", "ephemeral": True, "model": "m-1"}),
        ("turn/start", {"threadId": "t", "input": [{"type": "text", "text": "Hello"}]}),
    ]


def test_opencode_turn_sets_model_before_prompt() -> None:
    """The model is chosen before the prompt is sent; no file of ours is offered."""
    speech = speech_of("opencode", cwd="/p", model="stub/m-1")
    asked = [json.loads(speech.opening("Hello"))]
    for id, result in enumerate(({}, {"sessionId": "ses_1"}, {})):
        reply = speech.hear(lines({"jsonrpc": "2.0", "id": id, "result": result})).reply
        asked += [json.loads(reply)]
    assert [(each["id"], each["method"]) for each in asked] == [
        (0, "initialize"),
        (1, "session/new"),
        (2, "session/set_config_option"),
        (3, "session/prompt"),
    ]
    assert asked[0]["params"]["clientCapabilities"]["terminal"] is False
    assert asked[3]["params"]["prompt"] == [{"type": "text", "text": "Hello"}]


OPTIONS = [{"kind": "allow_once", "optionId": "yes"}, {"kind": "reject_once", "optionId": "no"}]


@pytest.mark.parametrize(
    ("tool", "method", "answer"),
    [
        ("codex", "item/commandExecution/requestApproval", {"result": {"decision": "decline"}}),
        ("codex", "mcpServer/elicitation/request", {"result": {"action": "decline"}}),
        (
            "opencode",
            "session/request_permission",
            {"result": {"outcome": {"outcome": "selected", "optionId": "no"}}},
        ),
        ("opencode", "fs/read_text_file", {"error": -32601}),
        ("codex", "something/new", {"error": -32601}),
    ],
)
def test_speech_declines_permission_requests_of_tool(
    tool: str, method: str, answer: dict[str, Any]
) -> None:
    """There is nobody to allow it."""
    request = {"id": "q", "method": method, "params": {"options": OPTIONS}}
    reply = json.loads(speech_of(tool, cwd="/").hear(lines(request)).reply)
    assert reply["id"] == "q"
    if "error" in answer:
        assert reply["error"]["code"] == answer["error"]
    else:
        assert reply["result"] == answer["result"]


@pytest.mark.parametrize("tool", tool_names())
def test_turn_plan_contains_no_bypass_option(tool: str, tmp_path: Path) -> None:
    """Among the words and in the environment there is nothing that skips a question."""
    plan = turn_plan(tool, cwd=str(tmp_path), model="m-1")
    words = " ".join((*plan.words, *plan.environment)).lower()
    assert [word for word in BYPASS if word in words] == []
    assert plan.given is None


@pytest.mark.parametrize("model", ["--yolo", "-c", "a b", "$(x)", "m\n", "x" * 200])
def test_turn_plan_rejects_invalid_model_names(model: str, tmp_path: Path) -> None:
    """A file of a workspace may name any model."""
    with pytest.raises(CortextError, match="not a valid model name"):
        turn_plan("claude", cwd=str(tmp_path), model=model)


def test_opencode_turn_plan_has_new_server_password_each_time(tmp_path: Path) -> None:
    """Nobody else on the machine is to speak with it: another one for each turn."""
    both = [turn_plan("opencode", cwd=str(tmp_path)).environment for _ in range(2)]
    first, second = (each["OPENCODE_SERVER_PASSWORD"] for each in both)
    assert len(first) >= 32
    assert first != second


@pytest.mark.parametrize(
    ("state", "off"),
    [
        (None, True),
        ("{", True),
        ("[]", True),
        ('{"projects": {"PROJECT": {"hasTrustDialogAccepted": false}}}', True),
        ('{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}', False),
    ],
)
def test_claude_turn_plan_disables_hooks_of_untrusted_project(
    state: str | None, off: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code asks nobody without a terminal: hooks and servers of a project that the person
    did not trust are left out, and that is said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    inner = tmp_path / "project/inner"
    inner.mkdir(parents=True)
    if state is not None:
        text = state.replace("PROJECT", str(inner.parent.resolve()))
        (tmp_path / ".claude.json").write_text(text, encoding="utf-8")
    words = turn_plan("claude", cwd=str(inner)).words
    assert (words[-3:] == OFF) is off
    assert bool(turn_notes("claude", str(inner))) is off
