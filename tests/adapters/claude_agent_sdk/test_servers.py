"""Transcripts on a real Redis."""

import asyncio
from itertools import count
from typing import Any

from claude_agent_sdk.testing import run_session_store_conformance

from cortext.adapters.claude_agent_sdk import CortextSessionStore
from tests.adapters.claude_agent_sdk.transcript_entries import (
    AGENT,
    KEY,
    check_entries_round_trip,
    line,
)
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order, stored


def test_redis_session_store_passes_sdk_conformance_suite(redis_url: str) -> None:
    """All contracts of the SDK, the optional ones too."""
    fresh = count()
    asyncio.run(
        run_session_store_conformance(lambda: CortextSessionStore(f"{redis_url}-{next(fresh)}"))
    )


def test_redis_entries_round_trip_and_sub_agents_are_separate(redis_url: str) -> None:
    """As from a folder; sub-agents are apart."""
    check_entries_round_trip(redis_url)
    task = line(1, "user", "the agent's task", isSidechain=True)
    asyncio.run(CortextSessionStore(redis_url).append(AGENT, [task]))
    (id,) = stored(redis_url).list_session_ids()
    assert stored(redis_url).head(id).owner == "proj"
    (agents,) = stored(redis_url).inner("subagents").heads()
    assert agents.parent_id == id


def write(url: str, name: str, count: int) -> None:
    async def main() -> None:
        store = CortextSessionStore(url)
        for number in range(count):
            entry: Any = {"type": "user", "uuid": f"{name}-{number}"}
            await store.append(KEY, [entry])

    asyncio.run(main())


def test_eight_processes_append_to_one_session_without_loss(redis_url: str) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    written = eight_write(write, redis_url, 20)
    entries: Any = asyncio.run(CortextSessionStore(redis_url).load(KEY))
    in_each_ones_order([entry["uuid"] for entry in entries], written)


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there."""
    asyncio.run(fleet_of("claude-agent-sdk.md", redis_url).append(KEY, [line(1, "user", "hi")]))
    (found,) = asyncio.run(CortextSessionStore(redis_url).list_sessions("proj"))
    assert found["session_id"] == KEY["session_id"]
