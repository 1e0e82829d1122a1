"""A client that asks while what is new is still being read."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from cortext import paths
from cortext.catalog.fulltext.fulltext_index import FulltextIndex
from cortext.features.search import index_entries
from tests.command import begin
from tests.mcp.mcp_client import ask, facts, text

DEADLINE = 30.0


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reading stops before the second conversation until it is let go; the first call waits for it
    only briefly."""
    let_go, read = threading.Event(), index_entries.read_new
    count = 0

    def slowly(row: Any, state: str) -> Any:
        nonlocal count
        count += 1
        if count > 1:
            assert let_go.wait(DEADLINE)
        return read(row, state)

    monkeypatch.setattr("cortext.features.search.index_entries.read_new", slowly)
    monkeypatch.setattr("cortext.mcp.mcp_server._WAIT", 0.3)
    yield let_go
    let_go.set()


def test_call_during_refresh_answers_partially_and_reports_unread(
    workspace: Path, held: threading.Event
) -> None:
    """And the next one has it all, without being told to look again."""

    async def work(client: Client) -> list[types.CallToolResult]:
        early = [
            await client.call_tool("search_workspace", {"query": "cursors"}),
            await client.call_tool("get_context", {"topic": "cursors"}),
            await client.call_tool("get_decisions", {"topic": "REST"}),
        ]
        held.set()
        for _ in range(600):
            late = await client.call_tool("search_workspace", {"query": "cursors"})
            if not facts(late)["unread"]:
                return [*early, late]
        raise AssertionError("it is never read")

    *early, late = ask(work)
    for each in early:
        assert facts(each)["unread"] >= 1
        assert (
            text(each)
            .split("\n")[-1]
            .endswith("not read yet. Ask again in a moment for more results.")
        )
    assert len(facts(late)["hits"]) == 1
    assert "not read yet" not in text(late)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_refresh_starts_when_client_connects(workspace: Path, mode: str) -> None:
    """Nobody has to ask for it."""

    async def work(client: Client) -> None:
        await client.list_tools()
        assert await anyio.to_thread.run_sync(comes, 2)

    assert not os.path.exists(paths.words())
    ask(work, mode=mode)


def test_list_does_not_wait_for_refresh(workspace: Path, held: threading.Event) -> None:
    """It needs no words."""

    async def work(client: Client) -> types.CallToolResult:
        await client.list_tools()
        return await client.call_tool("list_conversations", {})

    assert (facts(found := ask(work))["total"], facts(found)["unread"]) == (2, 0)


def test_search_sends_progress_to_client(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time more than the last, and of how many."""
    for number in range(4):
        begin(workspace, "plan", f"More {number}", "What else?")
    told: list[tuple[float, float | None]] = []
    read, step = index_entries.read_new, threading.Semaphore(0)

    def slowly(row: Any, state: str) -> Any:
        assert step.acquire(timeout=DEADLINE)
        return read(row, state)

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))
        step.release()

    async def work(client: Client) -> types.CallToolResult:
        # The first is read at once, each further one when the client heard of the one before.
        step.release()
        return await client.call_tool(
            "search_workspace", {"query": "cursors"}, progress_callback=hear
        )

    monkeypatch.setattr("cortext.features.search.index_entries.read_new", slowly)
    monkeypatch.setattr("cortext.mcp.mcp_server._WAIT", DEADLINE)
    assert facts(ask(work))["unread"] == 0
    assert told[:5] == [(float(n), 6.0) for n in range(1, 6)]


def test_server_end_stops_refresh_thread(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the conversation that it is at; what was read is kept or read again, and no thread of
    it is left."""
    begun, read = threading.Event(), index_entries.read_new

    def noted(row: Any, state: str) -> Any:
        begun.set()
        return read(row, state)

    async def work(client: Client) -> None:
        await client.list_tools()
        assert await anyio.to_thread.run_sync(begun.wait, DEADLINE)

    monkeypatch.setattr("cortext.features.search.index_entries.read_new", noted)
    ask(work)
    assert [each.name for each in threading.enumerate() if each.name == "cortext-reads"] == []


def known() -> int:
    """How many conversations have their words in the index."""
    with FulltextIndex.at_home() as words:
        return len(words.known())


def comes(count: int) -> bool:
    """Whether so many are known within the deadline."""
    end = time.monotonic() + DEADLINE
    while known() < count and time.monotonic() < end:
        time.sleep(0.05)
    return known() == count
