"""Threads on a real Redis."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.types import Command

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.checkpoint_values import VALUES, got, put
from tests.adapters.langgraph.scenes import Model, agent, call, on, texts
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order, stored


def test_redis_saver_passes_full_langgraph_conformance_suite(redis_url: str) -> None:
    """LangGraph's own suite: all capabilities."""
    number = iter(range(100))

    @checkpointer_test(name="CortextSaver redis:")
    async def saver() -> AsyncGenerator[CortextSaver]:
        async with CortextSaver(f"{redis_url}-{next(number)}") as made:
            yield made

    report = asyncio.run(validate(saver))
    assert report.conformance_level() == "FULL", report.to_dict()


@pytest.mark.parametrize("name", sorted(VALUES))
def test_redis_channel_values_round_trip(name: str, redis_url: str) -> None:
    """As from a folder, read by another saver."""
    put(CortextSaver(redis_url), {name: VALUES[name]})
    found: Any = got(redis_url)  # type: ignore[arg-type]
    assert repr(found[name]) == repr(VALUES[name])


def write(url: str, name: str, count: int) -> None:
    graph = agent(CortextSaver(url), Model())
    for number in range(count):
        said = {"messages": [("user", f"{name}-{number}")]}
        graph.update_state(on("t"), said, as_node="model")


def test_eight_processes_write_to_one_thread_without_loss(redis_url: str) -> None:
    """What was acknowledged is there, in the checkpoints and in the conversation; no errors."""
    written = eight_write(write, redis_url, 8)
    told = [message.content for message in stored(redis_url).load("t").messages]
    in_each_ones_order(told, written)
    states = list(agent(CortextSaver(redis_url), Model()).get_state_history(on("t")))
    assert {text for state in states for text in texts(state.values["messages"])} == set(written)
    assert len(states) == len(written)


def test_approval_by_another_saver_clears_pending_interrupt(redis_url: str) -> None:
    """Two savers that both know the thread: one asks, the other goes on, and nobody waits. The
    checkpoints are apart from the conversations."""
    store = stored(redis_url)
    model = Model(lines=["hello", "again", call("pay", "c1", amount=7)])
    one, other = (agent(CortextSaver(redis_url), model) for _ in range(2))
    for graph in (one, other, one):
        graph.invoke({"messages": [("user", "hi")]}, on("t"))
    assert store.load("t").pending["interrupts"][0]["value"] == {"pay": 7}
    made = other.invoke(Command(resume="no"), on("t"))
    assert made["messages"][-2].content == "refused"
    assert store.load("t").pending is None
    assert [message.content for message in store.load("t").messages] == texts(made["messages"])
    assert store.list_session_ids() == store.inner("checkpoints").list_session_ids() == ["t"]


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there."""
    graph = agent(fleet_of("langgraph.md", redis_url), Model())
    graph.invoke({"messages": [("user", "hi")]}, on("t"))
    assert len(CortextSaver(redis_url).threads()) == 1
