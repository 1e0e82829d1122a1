"""Sessions on a real Redis."""

import asyncio
from typing import Any

from agents import Runner

from cortext.adapters.openai_agents import CortextSession
from tests.adapters.openai_agents.item_checks import check_items_round_trip
from tests.adapters.openai_agents.scenes import call, pay, speaker
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order


def test_redis_items_of_every_kind_round_trip(redis_url: str) -> None:
    """As from a folder: all, the last, and those that are popped."""
    check_items_round_trip(redis_url)


def write(url: str, name: str, count: int) -> None:
    async def main() -> None:
        session = CortextSession("shared", url)
        for number in range(count):
            await session.add_items([{"content": f"{name}-{number}", "role": "user"}])

    asyncio.run(main())


def test_eight_processes_write_to_one_session_without_loss(redis_url: str) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    written = eight_write(write, redis_url, 20)
    items: Any = asyncio.run(CortextSession("shared", redis_url).get_items())
    in_each_ones_order([item["content"] for item in items], written)


def pop(url: str, name: str, count: int) -> None:
    async def main() -> None:
        session = CortextSession("shared", url)
        for _ in range(count):
            item: Any = await session.pop_item()
            await CortextSession("popped", url).add_items([item])

    asyncio.run(main())


def test_eight_processes_pop_each_item_once(redis_url: str) -> None:
    """No item goes to two of them: what they change, nobody else changes meanwhile."""
    written = eight_write(write, redis_url, 5)
    eight_write(pop, redis_url, 5)
    items: Any = asyncio.run(CortextSession("popped", redis_url).get_items())
    assert sorted(item["content"] for item in items) == sorted(written)
    assert asyncio.run(CortextSession("shared", redis_url).get_items()) == []


def test_pending_run_is_listed_by_owner_and_approved_by_another_worker(redis_url: str) -> None:
    """By owner, with what waits; another worker approves it."""

    async def main() -> None:
        agent, _ = speaker([call("pay", "p1", amount=3)], "paid", tools=[pay])
        session = CortextSession("s", redis_url, owner="ada")
        result = await Runner.run(agent, "pay the bill", session=session)
        await session.save_pending(result.to_state())
        await CortextSession("t", redis_url, owner="bob").add_items(
            [{"content": "hi", "role": "user"}]
        )
        rows = await CortextSession.list_sessions(redis_url, owner="ada")
        assert [(row.session_id, row.title, row.waits) for row in rows] == [
            ("s", "pay the bill", True)
        ]
        everybody = await CortextSession.list_sessions(redis_url)
        assert [row.session_id for row in everybody] == ["t", "s"]
        other = CortextSession("s", redis_url)
        state = await other.load_pending(agent)
        assert state is not None
        state.approve(state.get_interruptions()[0])
        result = await Runner.run(agent, state, session=other)
        assert result.final_output == "paid"

    asyncio.run(main())


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there."""
    session = fleet_of("openai-agents.md", redis_url)
    asyncio.run(session.add_items([{"content": "hi", "role": "user"}]))
    assert [row.owner for row in asyncio.run(session.list_sessions(redis_url))] == ["ada"]
