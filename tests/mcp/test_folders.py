"""Which workspace the MCP server serves, and that it does not leave it unless asked."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl

from tests.command import head_of, ok
from tests.faults.mounts import read_only
from tests.mcp.mcp_client import ask, ask_process, call, facts, refused, text


def test_tools_find_other_workspaces_only_with_all(elsewhere: str) -> None:
    """Not by search, list, context, decisions, nor by its id; with `all` by each of them."""
    assert facts(call("search_workspace", query="quokka"))["hits"] == []
    assert facts(call("get_context", topic="quokka cursors"))["conversations"] != []
    for name, given in (
        ("get_context", {"topic": "quokka cursors"}),
        ("list_conversations", {}),
        ("get_decisions", {"topic": "quokka"}),
    ):
        assert elsewhere not in text(call(name, **given))
    error = refused(call("get_conversation", id=elsewhere))
    assert error.startswith(f"session not found: {elsewhere}\nhint: ")
    assert "`all: true` also searches outside this workspace" in error
    assert refused(call("resume_conversation", id=elsewhere)).startswith("session not found")
    assert refused(call("save_conversation", id=elsewhere, summary="x")).startswith("session not")

    (hit,) = facts(call("search_workspace", query="quokka", all_=True))["hits"]
    assert hit["id"] == elsewhere
    assert elsewhere in text(call("list_conversations", all_=True))
    assert "| They are." in text(call("get_conversation", id=elsewhere, all_=True))


def test_read_resource_refuses_conversation_of_another_workspace(elsewhere: str) -> None:
    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"cortext://conversation/{elsewhere}")
        return caught.value.message

    assert ask(work).startswith(f"session not found: {elsewhere}\nhint: ")


def test_server_uses_workspace_of_client_roots(workspace: Path, tmp_path: Path) -> None:
    """A server that was started anywhere serves the workspace of its client's roots."""

    async def roots(context: Any) -> types.ListRootsResult:
        uri = FileUrl(f"file://{workspace}/sub%20folder")
        return types.ListRootsResult(roots=[types.Root(uri=uri)])

    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool("list_conversations", {})

    (workspace / "sub folder").mkdir()
    away = tmp_path / "away"
    away.mkdir()
    found = ask_process(work, away, mode="legacy", list_roots_callback=roots)
    assert facts(found)["total"] == 2
    assert facts(ask_process(work, away, mode="legacy"))["total"] == 0


def test_server_uses_workspace_of_claude_project_dir(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert facts(call("list_conversations"))["total"] == 0
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(workspace))
    assert facts(call("list_conversations"))["total"] == 2


@pytest.mark.parametrize("where", ["/", "home"])
def test_server_started_above_workspaces_finds_nothing_without_all(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Some clients start their servers in `/`, or in the home folder."""
    monkeypatch.setenv("HOME", str(workspace.parent))
    monkeypatch.chdir("/" if where == "/" else workspace.parent)
    assert facts(call("list_conversations"))["total"] == 0
    assert facts(call("search_workspace", query="cursors"))["hits"] == []
    assert refused(call("get_conversation", id="002")).startswith("session not found")
    assert facts(call("search_workspace", query="cursors", all_=True))["hits"] != []


def test_resume_in_read_only_folder_briefs_and_warns(workspace: Path) -> None:
    """The agent gets all of it, and is told that the conversation stays as it was."""
    ok(workspace, "stop", "002")
    before = head_of(workspace, "002-plan-paging")
    with read_only(workspace):
        told = facts(call("resume_conversation", id="002"))
    assert head_of(workspace, "002-plan-paging") == before
    assert told["warnings"][-1].startswith(
        "the conversation's folder is read-only: its status stays paused"
    )
    assert "| With opaque cursors." in told["briefing"]
    assert told["is_kept"] is False
