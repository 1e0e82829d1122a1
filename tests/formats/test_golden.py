"""Version 1.0 as it is on disk: the bytes that we write, and that every release will read.

`python -m tests.formats.test_golden` writes the files; a change of them is a new version.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from tests.formats.session_codecs import FORMATS

GOLDEN = Path(__file__).with_name("golden")
FILES = {
    "document": ("document.json",),
    "log": ("log.jsonl",),
    "folder": ("folder/session.json", "folder/messages.jsonl"),
}


def golden_session() -> Session:
    """Something in every field, fixed."""
    start = datetime(2025, 11, 22, 10, 30, tzinfo=UTC)
    at = [start + timedelta(seconds=15 * step, microseconds=step) for step in range(7)]
    return Session(
        "001-brainstorm-api-design",
        title="API design: “REST” vs GraphQL",
        created_at=start,
        updated_at=at[5],
        working_dir="/home/ann/project",
        model="claude-sonnet-4-5-20250929",
        messages=[
            SessionMessage("system", "Be brief.", at[0], "m-1"),
            SessionMessage("user", "Zwei\nZeilen\u2028 und \ud800", at[1], "m-2", name="ann"),
            SessionMessage(
                "assistant", "", at[2], "m-3",
                tool_calls=[{"id": "c-1", "function": {"name": "read", "arguments": "{}"}}],
                tokens=12,
                extra={"type": "odd", "x-unknown": [1, None]},
            ),
            SessionMessage("tool", "text", at[4], "m-4", tool_call_id="c-1"),
            SessionMessage("assistant", "Done.", at[6], "m-5", structured_data={"n": [1, 2.5]}),
        ],
        tool_history=[
            ToolInvocation("read", {"path": "a.py"}, "text", 0.25, id="t-1", timestamp=at[3]),
            ToolInvocation(
                "run", {"command": "make"}, None, 1.0, False, "exit 2", "t-2",
                at[6] + timedelta(seconds=1), {"exit": 2},
            ),
        ],
        total_prompt_tokens=1200,
        total_completion_tokens=345,
        tags=["api", "design"],
        metadata={"branch": "main", "nested": {"deep": [True, None, 10**20]}},
        kind="brainstorm",
        status="paused",
        owner="ann",
        parent_id="000-plan-api",
        stop_reason="interrupt",
        summary="Leaning toward REST",
        agent="architect",
        command="/workspace.brainstorm",
        prompt_hash="sha256:abc123",
        tools=["mcp__cortext__get_context"],
        native=[{"tool": "claude", "session_id": "5e0c", "from": 0, "to": 5}],
        pending={"run": {"step": 3}},
        extra={"agent_config": {"temperature": 1}, "session_id": "theirs", "future": {"a": [1]}},
    )  # fmt: skip


def written(name: str) -> tuple[bytes, ...]:
    data = FORMATS[name][0](golden_session())
    return data if isinstance(data, tuple) else (data,)


@pytest.mark.parametrize("name", FILES)
def test_encoded_session_equals_golden_bytes(name: str) -> None:
    """Byte for byte, so that no change of a format goes unnoticed."""
    assert written(name) == tuple((GOLDEN / file).read_bytes() for file in FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_golden_files_decode_to_golden_session(name: str) -> None:
    """Every value has its place."""
    data = [(GOLDEN / file).read_bytes() for file in FILES[name]]
    assert FORMATS[name][1](tuple(data) if len(data) > 1 else data[0]) == golden_session()


def write_golden_files() -> None:
    for name, files in FILES.items():
        for file, data in zip(files, written(name), strict=True):
            path = GOLDEN / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    write_golden_files()
