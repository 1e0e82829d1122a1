"""What the tools report of a turn, as they were seen to, and whatever else they may say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.tools.headless_runs import read_report
from cortext.tools.registry import tool_names
from cortext.tools.tool_output_parsers import AnswerUsage, Report

TEXT = "You asked for\n\na file."
CLAUDE = {
    "type": "result",
    "session_id": "a04ca7e4",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 11,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 7,
        "iterations": [],
    },
    "result": TEXT,
}
TOKENS = {"prompt": 11, "candidates": 7, "total": 20, "cached": 5, "thoughts": 2}
GEMINI = {
    "session_id": "a05f4f34",
    "response": TEXT,
    "stats": {"models": {"m": {"tokens": TOKENS, "roles": {"main": {"tokens": TOKENS}}}}},
}
STEP = {"total": 18, "input": 11, "output": 7, "reasoning": 1, "cache": {"write": 2, "read": 3}}
OPENCODE = [
    {"type": "step_start", "sessionID": "ses_1", "part": {"type": "step-start"}},
    {"type": "text", "sessionID": "ses_1", "part": {"type": "text", "text": TEXT}},
    {
        "type": "step_finish",
        "sessionID": "ses_1",
        "part": {"type": "step-finish", "tokens": STEP, "cost": 0.5},
    },
]
CODEX = [
    {"type": "thread.started", "thread_id": "01a1e2cc"},
    {"type": "item.completed", "item": {"type": "error", "message": "No metadata."}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": TEXT}},
    {"type": "turn.completed", "usage": {"input_tokens": 22, "output_tokens": 14}},
]


def lines(events: list[dict[str, object]]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    ("tool", "said", "expected"),
    [
        ("claude", json.dumps(CLAUDE), Report(TEXT, "a04ca7e4", AnswerUsage(1111, 7, 0.25))),
        ("gemini", json.dumps(GEMINI, indent=2), Report(TEXT, "a05f4f34", AnswerUsage(11, 9))),
        ("opencode", lines(OPENCODE), Report(TEXT, "ses_1", AnswerUsage(16, 8, 0.5))),
        ("codex", lines(CODEX), Report(TEXT, "01a1e2cc", AnswerUsage(22, 14))),
    ],
)
def test_read_report_reads_recorded_report_of_each_tool(
    tool: str, said: str, expected: Report
) -> None:
    assert read_report(tool, said) == expected


@pytest.mark.parametrize("tool", tool_names())
@given(st.recursive(st.text() | st.integers() | st.none() | st.booleans(), st.lists))
def test_read_report_returns_unknown_output_as_answer(tool: str, value: object) -> None:
    """Another release may say it otherwise: nothing is lost, and nothing raised."""
    said = json.dumps(value)
    assert read_report(tool, said) == Report(said)
    assert read_report(tool, "Plain words.\n") == Report("Plain words.\n")


@pytest.mark.parametrize("tool", tool_names())
def test_read_report_ignores_fields_of_wrong_type(tool: str) -> None:
    """What fits is taken."""
    odd = {"result": TEXT, "response": TEXT, "session_id": 5, "usage": [], "stats": {"models": 1}}
    event = {"type": "item.completed", "sessionID": None, "part": {"type": "text", "text": TEXT}}
    event["item"] = {"type": "agent_message", "text": TEXT}
    said = json.dumps(odd if tool in ("claude", "gemini") else event)
    assert read_report(tool, said) == Report(TEXT)
