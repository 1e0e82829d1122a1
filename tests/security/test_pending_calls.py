"""Work that a conversation broke off in: it is told as text, and nobody does it on the way back."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.tools.registry import open_bridge
from cortext.tools.writer_protocol import open_writer, turns_of
from tests.command import begin, change_head, ok
from tests.tools.file_tools import IN_FILES

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CALLS: dict[str, dict[str, Any]] = {
    "shell": {"id": "c", "name": "Bash", "arguments": {"command": "touch RAN"}},
    "codex": {"id": "c", "name": "shell", "arguments": {"command": ["sh", "-c", "touch RAN"]}},
    "gemini shell": {"id": "c", "name": "run_shell_command", "arguments": {"command": "touch RAN"}},
    "write": {"id": "c", "name": "Write", "arguments": {"file_path": "RAN", "content": "x"}},
    "edit": {"id": "c", "name": "Edit", "arguments": {"file_path": "RAN", "new_string": "x"}},
    "server": {"id": "c", "name": "mcp__x__run", "arguments": {"code": "open('RAN','w')"}},
    "of openai": {"id": "c", "type": "function",
                  "function": {"name": "sh", "arguments": '{"command":"touch RAN"}'}},
    "without a name": {"id": "c", "arguments": {"command": "touch RAN"}},
    "in a string": {"id": "c", "name": "Bash", "arguments": '{"command":"touch RAN"}'},
}  # fmt: skip


@pytest.fixture(scope="module")
def module_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    ok(folder, "init")
    return folder


def _broken_off(call: dict[str, Any]) -> Session:
    said = [
        SessionMessage("user", "Clean up.", WHEN),
        SessionMessage("assistant", "", WHEN + timedelta(seconds=1), tool_calls=[call]),
    ]
    return Session("s", messages=said, pending={"run": {"next": call}})


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tool", IN_FILES)
def test_written_session_contains_no_pending_tool_call(
    tool: str, name: str, tmp_path: Path
) -> None:
    """What a tool is given to go on with holds text only: there is nothing for it to run."""
    turns = turns_of(_broken_off(CALLS[name]), show=lambda number: f"cortext show {number}")
    home = tmp_path / "home"
    open_writer(tool, str(home)).write(turns, cwd=str(tmp_path), title="T")
    bridge = open_bridge(tool, str(home))
    (source,) = bridge.sources()
    messages = bridge.decode(source).session.messages
    assert [message.tool_calls for message in messages if message.tool_calls] == []
    assert {message.role for message in messages} <= {"user", "assistant"}
    told = "\n".join(message.content for message in messages)
    assert "no result was recorded" in told
    assert not list(tmp_path.rglob("RAN"))


@pytest.mark.parametrize(
    "name",
    [n if n in ("shell", "of openai") else pytest.param(n, marks=pytest.mark.slow) for n in CALLS],
)
def test_resume_and_stop_show_pending_call_but_run_nothing(
    name: str, module_workspace: Path
) -> None:
    """`resume` and `stop` of a conversation that broke off, with a run that was paused."""
    id = begin(module_workspace, "plan", "Cleaning", "Clean up.")
    call = SessionMessage("assistant", "", tool_calls=[CALLS[name]])
    open_session_store(f"workspace:{module_workspace}").append(id, call)
    change_head(module_workspace, id, pending={"run": {"next": CALLS[name], "state": "approved"}})
    assert "no result was recorded" in ok(module_workspace, "resume", id)
    ok(module_workspace, "stop", id)
    assert not list(module_workspace.rglob("RAN"))
