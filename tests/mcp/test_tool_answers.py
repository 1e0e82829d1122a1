"""Every field of every answer, where somebody's files have hostile ids, names, paths and times."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from cortext import Session, SessionMessage
from cortext.adapters.session_log import SessionLog
from cortext.mcp.tool_table import TOOLS
from tests.command import begin, change_head, folder_of, head_of
from tests.mcp.inert_text import END, HOSTILE, leaks_in, leaks_of
from tests.mcp.mcp_client import ask, call, facts, text

SAYS = f"We decided to use the wombat.\n{HOSTILE}"
STEP = {
    "role": "assistant", "content": SAYS, "id": HOSTILE, "name": HOSTILE, "model": HOSTILE,
    "timestamp": "2026-11-18T01:00:00Z", HOSTILE: HOSTILE,
    "tool_calls": [{"id": HOSTILE, "name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}],
}  # fmt: skip
RESULT = {
    "role": "tool", "content": SAYS, "id": f"{HOSTILE}2", "tool_call_id": HOSTILE,
    "name": HOSTILE, "timestamp": "2026-11-18T01:00:01Z",
}  # fmt: skip


def add_lines(workspace: Path, id: str, *lines: dict[str, Any]) -> None:
    with (folder_of(workspace, id) / ".session/messages.jsonl").open("a") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


def plant_conversations(workspace: Path) -> None:
    """Conversations of the workspace: hostile heads and lines, and a hostile folder."""
    id = begin(workspace, "debug", "Trap", "Say it.")
    asks = {"role": "user", "content": f"Agreed, let's use the wombat. {SAYS}", "id": f"{HOSTILE}1"}
    add_lines(workspace, id, STEP, RESULT, asks, {**STEP, "role": HOSTILE, "id": "odd-role"})
    add_lines(workspace, id, {**STEP, "timestamp": HOSTILE, "id": "odd-time"})
    add_lines(workspace, id, {**STEP, "content": "wombat " * 9000, "id": f"{HOSTILE}3"})
    config = {"command": HOSTILE, "model": HOSTILE, "tools": [HOSTILE, f"mcp__{HOSTILE}__t"]}
    names = ("title", "conversation_type", "conversation_id", "context_summary", "working_dir")
    more = ("owner", "agent", "parent_id", "stop_reason", "token_count_from", "updated_at")
    fields = dict.fromkeys((*names, *more), HOSTILE)
    native = [{"tool": HOSTILE, "session_id": HOSTILE, "path": HOSTILE}]
    change_head(workspace, id, **fields, agent_config=config, tags=[HOSTILE], native=native)
    (folder_of(workspace, id) / "debug.md").write_text(f"# {HOSTILE}\n\nwombat\n{HOSTILE}\n")
    other = begin(workspace, "debug", "Odd status", "wombat?")
    change_head(workspace, other, status=HOSTILE, created_at=HOSTILE, last_active=HOSTILE)
    moved = begin(workspace, "debug", "Moved", "A wombat in a folder.", SAYS)
    folder = folder_of(workspace, moved)
    folder.rename(folder.with_name(f"{moved}-{HOSTILE}"))
    gone = begin(workspace, "debug", "Without a session", "wombat")
    (folder_of(workspace, gone) / ".session/session.json").write_text("{" + HOSTILE)


def plant_transcript(workspace: Path, home: Path) -> None:
    """A session of Claude Code that was had in the workspace, and one of its sub-agents."""
    id = "11111111-2222-4333-8444-555555555555"
    folder = home / "projects" / str(workspace).replace("/", "-")
    folder.mkdir(parents=True)
    common = {
        "sessionId": id, "cwd": f"{workspace}/{HOSTILE}", "version": HOSTILE,
        "gitBranch": HOSTILE, "timestamp": "2026-11-18T01:02:03Z", "userType": HOSTILE,
    }  # fmt: skip
    call = {"type": "tool_use", "id": HOSTILE, "name": HOSTILE, "input": {HOSTILE: HOSTILE}}
    result = {"type": "tool_result", "tool_use_id": HOSTILE, "content": SAYS}
    lines: list[dict[str, Any]] = [
        {"type": "summary", "summary": HOSTILE, "leafUuid": HOSTILE},
        {"type": "custom-title", "customTitle": HOSTILE, "sessionId": id},
        {**common, "type": "user", "uuid": HOSTILE, "parentUuid": None,
         "message": {"role": "user", "content": f"Is the wombat there? {SAYS}"}},
        {**common, "type": "assistant", "uuid": f"{HOSTILE}1", "parentUuid": HOSTILE,
         "message": {"role": "assistant", "id": HOSTILE, "model": HOSTILE,
                     "content": [{"type": "text", "text": SAYS}, call]}},
        {**common, "type": "user", "uuid": f"{HOSTILE}2", "parentUuid": f"{HOSTILE}1",
         "message": {"role": "user", "content": [result]}},
        {**common, "type": "user", "uuid": f"{HOSTILE}3", "parentUuid": f"{HOSTILE}2",
         "message": {"role": "user", "content": "Agreed, let's use the wombat."}},
    ]  # fmt: skip
    written = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{id}.jsonl").write_text(written)
    agents = folder / id / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_text(written)
    (agents / f"agent-{HOSTILE}.jsonl").write_text(written)
    for odd in (HOSTILE, f"odd {END}"):
        (folder / f"{odd}.jsonl").write_text(written)


def plant_program(workspace: Path) -> None:
    """Two sessions of one id that a program keeps: their paths name them, and one is hostile."""
    for place in (None, workspace / "kept" / HOSTILE):
        kept = SessionLog(place, HOSTILE)
        session = Session(
            "program", owner=HOSTILE, title=HOSTILE, kind=HOSTILE,
            metadata={"thread_id": HOSTILE}, tags=[HOSTILE],
        )  # fmt: skip
        said = SessionMessage("user", f"A wombat of a program. {SAYS}", id=HOSTILE, name=HOSTILE)
        kept.append(session.id, [said], lambda session=session: session)
        kept.close()


@pytest.fixture
def hostile(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, a transcript and sessions of programs that somebody has prepared."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    plant_conversations(workspace)
    plant_transcript(workspace, tmp_path / "claude")
    plant_program(workspace)
    return workspace


def calls(ids: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool, for every conversation."""
    for everywhere in (False, True):
        yield "search_workspace", {"query": "wombat", "limit": 50, "all": everywhere}
        yield "search_workspace", {"query": "EVIL obey", "all": everywhere}
        yield "search_workspace", {"query": "wombta", "all": everywhere}
        yield "search_workspace", {"query": f"wombat {HOSTILE[:40]} zebra", "all": everywhere}
        yield "search_workspace", {"query": "wombat", "date_range": "1999", "all": everywhere}
        yield "get_context", {"topic": "wombat", "max_results": 20, "all": everywhere}
        yield "get_decisions", {"topic": "wombat", "limit": 50, "all": everywhere}
        yield "list_conversations", {"limit": 100, "all": everywhere}
    yield "list_conversations", {"type": HOSTILE[:90]}
    for id in [*ids, HOSTILE, "zz"]:
        yield "get_conversation", {"id": id, "all": True}
        yield "get_conversation", {"id": id, "all": True, "full": True}
        for part in ("document", "agents"):
            yield "get_conversation", {"id": id, "all": True, "part": part}
        yield "save_conversation", {"id": id, "all": True, "summary": SAYS[:900]}
        yield "resume_conversation", {"id": id, "all": True, "reopen": True}


def leaks(name: str, given: dict[str, Any], result: types.CallToolResult) -> list[str]:
    found = leaks_of(text(result)) + leaks_in(result.structured_content)
    return [f"{name} {given}: {leak}" for leak in found]


def listed() -> list[dict[str, Any]]:
    return facts(call("list_conversations", limit=100, all_=True))["conversations"]


def test_no_answer_field_contains_unquoted_hostile_text(hostile: Path) -> None:
    ids = [row["id"] for row in listed()]
    assert len(ids) >= 8
    asked: set[str] = set()
    found: list[str] = []
    for name, given in calls(ids):
        asked.add(name)
        found += leaks(name, given, call(name, **given))
    assert found == []
    assert asked == set(TOOLS)


def test_message_id_of_decision_is_one_line(hostile: Path) -> None:
    decisions = facts(call("get_decisions", topic="wombat", limit=50))["decisions"]
    ids = [each["message_id"] for each in decisions]
    assert any(id.startswith("zz␛{A}EVIL") for id in ids)
    assert [id for id in ids if "\n" in id or END in id] == []


def test_escaped_hostile_id_still_names_conversation(hostile: Path) -> None:
    """An id is escaped such that every tool still takes it."""
    ids = [row["id"] for row in listed()]
    assert any("␛{A}" in id for id in ids)
    for id in ids:
        assert facts(call("get_conversation", id=id, all_=True))["conversation"]["id"] == id


def test_no_resource_field_contains_unquoted_hostile_text(hostile: Path) -> None:
    async def work(client: Client) -> list[str]:
        found: list[str] = []
        for each in (await client.list_resources()).resources:
            found += leaks_in({"name": each.name, "about": each.description, "uri": str(each.uri)})
            (content,) = (await client.read_resource(str(each.uri))).contents
            assert isinstance(content, types.TextResourceContents)
            found += leaks_of(content.text)
        return found

    assert ask(work) == []


def test_workspace_command_text_is_printable(hostile: Path) -> None:
    """The text is an instruction of the workspace; but it cannot act on a terminal."""
    folder = hostile / ".workspace/commands"
    for name in os.listdir(folder):
        path = folder / name
        path.write_text(path.read_text() + "\n## Going on\n\nGo \x1b[2J\u202e on.\r\n")
    said = text(call("resume_conversation", id="001"))
    assert "Go " in said
    assert said.replace("\n", "").isprintable()
    assert head_of(hostile, "001-brainstorm-api-design")["status"] == "active"
