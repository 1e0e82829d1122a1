"""Which folder a client works in: what it says, what its tool says, where the server runs."""

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from cortext.mcp.client_roots import folder_of
from tests.mcp.mcp_client import ask, facts, refused

pytestmark = pytest.mark.filterwarnings("ignore:The roots capability is deprecated")


def listed(result: types.CallToolResult) -> list[str]:
    return [each["id"] for each in facts(result)["conversations"]]


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a", "/a"),
        ("file:///a/%FF", "/a/\udcff"),
        ("file://elsewhere/a", ""),
        ("https:///a", ""),
        ("file:a", ""),
        ("file:///a%00b", ""),
        ("file://[/a", ""),
        ("", ""),
    ],
)
def test_folder_of_accepts_only_local_file_uris(uri: str, folder: str) -> None:
    """Of this machine, or none."""
    assert folder_of(uri) == folder


def test_server_follows_changed_client_roots(
    workspace: Path, tmp_path: Path, elsewhere: str
) -> None:
    """At the next call, with the notification and without."""
    now = [workspace]

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=f"file://{now[0]}")])  # type: ignore[arg-type]

    async def work(client: Client) -> list[list[str]]:
        seen = [listed(await client.call_tool("list_conversations", {}))]
        now[0] = tmp_path / "there"
        await client.session.send_roots_list_changed()
        seen.append(listed(await client.call_tool("list_conversations", {})))
        assert refused(await client.call_tool("get_conversation", {"id": "002"}))
        now[0] = workspace
        seen.append(listed(await client.call_tool("list_conversations", {})))
        return seen

    here = ["002-plan-paging", "001-brainstorm-api-design"]
    assert ask(work, mode="legacy", list_roots_callback=roots) == [here, [elsewhere], here]


def test_client_roots_win_over_tool_folder_over_working_folder(
    workspace: Path, tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that is nowhere, or no folder of this machine, says nothing."""
    said: list[str] = []

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in said])  # type: ignore[arg-type]

    async def work(client: Client) -> list[str]:
        return listed(await client.call_tool("list_conversations", {}))

    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    options: dict[str, Any] = {"mode": "legacy", "list_roots_callback": roots}
    assert ask(work, **options) == []
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(workspace))
    assert len(ask(work, **options)) == 2
    said[:] = [f"file://{tmp_path}/nowhere", "file://other-host/there"]
    assert len(ask(work, **options)) == 2
    said[:] = [f"file://{tmp_path}/there"]
    assert ask(work, **options) == [elsewhere]


def test_client_that_never_answers_roots_is_asked_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it says that they changed."""
    monkeypatch.setattr("cortext.mcp.client_roots._TIMEOUT", 0.2)
    asked = 0

    async def roots(context: Any) -> types.ListRootsResult:
        nonlocal asked
        asked += 1
        await anyio.sleep_forever()
        raise AssertionError

    async def work(client: Client) -> list[int]:
        counts: list[int] = []
        for _ in range(2):
            assert len(listed(await client.call_tool("list_conversations", {}))) == 2
            counts.append(asked)
        await client.session.send_roots_list_changed()
        await client.call_tool("list_conversations", {})
        return [*counts, asked]

    assert ask(work, mode="legacy", list_roots_callback=roots) == [1, 1, 2]
