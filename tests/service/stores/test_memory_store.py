"""Conversations in memory: timers, loops, and what they cost."""

import asyncio
import gc
import logging
import subprocess
import sys
import weakref

import pytest

from cortext import CortextError, MemoryConversationStore, Message
from cortext.service.stores.conversation_events import Event, StoreSubscription
from tests.service.stores.conformance_base import say, texts
from tests.service.stores.loops import FakeClock, in_loop


@in_loop
async def test_one_timer_serves_all_conversations() -> None:
    """However many there are and however much is said, one call is arranged."""
    clock = FakeClock()
    store = MemoryConversationStore(clock=clock, ttl=100)
    ids = [await store.create() for _ in range(50)]
    for step in range(20):
        clock.advance(10)
        for id in ids[: 25 if step < 19 else 0]:
            await store.add_message(id, say("busy"))
        assert len(clock.calls) <= 1
    assert [entry.id for entry in await store.list()] == ids[24::-1]
    clock.advance(91)
    assert await store.list() == []
    assert clock.calls == []


@in_loop
async def test_deleted_conversations_leave_few_deadlines() -> None:
    """Entries of those that are gone are thrown away at twice the number of those that are not."""
    store = MemoryConversationStore(clock=FakeClock(), max_conversations=10)
    most = 0
    for _ in range(2000):
        await store.create()
        most = max(most, len(store._sweeper))
    assert most <= 2 * 11 + 64


@in_loop
async def test_overdue_conversation_is_missing_before_timer_fires(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a busy loop did not sweep yet is not given out, and is logged once."""
    clock = FakeClock()
    store = MemoryConversationStore(clock=clock, ttl=10)
    ids = [await store.create() for _ in range(3)]
    clock.now += 10
    assert await store.get(ids[0]) is None
    assert await store.get_history(ids[1]) == []
    with pytest.raises(LookupError):
        await store.add_message(ids[2], say("late"))
    clock.advance(1)
    assert sum("expired" in line for line in caplog.messages) == 3


@in_loop
async def test_ttl_and_limit_can_be_disabled() -> None:
    """TTL and limit can be switched off."""
    clock = FakeClock()
    store = MemoryConversationStore(clock=clock, ttl=None, max_conversations=None)
    ids = [await store.create() for _ in range(1100)]
    clock.advance(1e9)
    assert len(await store.list(limit=None)) == 1100
    assert await store.get(ids[0]) is not None


def test_unclosed_store_lets_event_loop_end_without_warning() -> None:
    """Neither a timer nor a warning is left when a program just ends."""
    program = (
        "import asyncio, cortext\n"
        "store = cortext.MemoryConversationStore()\n"
        "async def main():\n"
        "    await store.create()\n"
        "loop = asyncio.new_event_loop()\n"
        "loop.run_until_complete(main())\n"
        "loop.close()\n"
        "asyncio.run(main())\n"
        "print(len(asyncio.run(store.list())))\n"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)


@in_loop
async def test_timer_does_not_keep_unreferenced_store_alive() -> None:
    """A store that nobody has is freed, though its timer has not gone off."""
    store = MemoryConversationStore()
    await store.create()
    freed = weakref.ref(store)
    del store
    gc.collect()
    assert freed() is None


@in_loop
async def test_timer_moves_to_next_event_loop() -> None:
    """The timer moves with the store into the loop that uses it."""
    store = MemoryConversationStore(ttl=0.2)

    def elsewhere() -> str:
        return asyncio.run(store.create())

    id = await asyncio.to_thread(elsewhere)
    async with store.events(id) as events:
        await store.list()
        assert (await anext(events)).kind == "expired"


@in_loop
async def test_store_refuses_second_running_event_loop() -> None:
    """While one loop has the store, another gets a clear error and changes nothing."""
    store = MemoryConversationStore()
    id = await store.create()
    caught: list[Exception] = []

    def other() -> None:
        try:
            asyncio.run(store.add_message(id, say("from there")))
        except CortextError as error:
            caught.append(error)

    await asyncio.to_thread(other)
    assert [(str(error), error.hint) for error in caught if isinstance(error, CortextError)] == [
        ("this conversation store is already used by another running event loop",
         "open one store for each event loop"),
    ]  # fmt: skip
    await store.add_message(id, say("from here"))
    assert texts(await store.get_history(id)) == ["from here"]


@in_loop
async def test_slow_subscription_drops_oldest_events_with_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not listen does not fill the memory, and the log says what was lost."""
    monkeypatch.setattr("cortext.service.stores.conversation_events.MOST_WAITING", 3)
    store = MemoryConversationStore()
    async with store.events() as events:
        ids = [await store.create() for _ in range(5)]
        assert [(await anext(events)).id for _ in range(3)] == ids[2:]
    assert sum("too slow" in r.msg for r in caplog.records if r.levelno == logging.WARNING) == 2


@in_loop
async def test_event_reaches_only_subscriptions_of_its_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A message costs only those who follow its conversation, and who stopped is forgotten."""
    asked: list[str] = []
    hear = StoreSubscription.hear

    def counted(follower: StoreSubscription, event: Event) -> None:
        asked.append(event.kind)
        hear(follower, event)

    monkeypatch.setattr(StoreSubscription, "hear", counted)
    store = MemoryConversationStore()
    ids = [await store.create() for _ in range(20)]
    followers = [store.events(id) for id in ids]
    for follower in followers:
        await follower.start()
    async with store.events() as every:
        await store.add_message(ids[7], say("hello"))
        assert asked == ["message", "message"]
        assert [(await anext(f)).id for f in (every, followers[7])] == [ids[7], ids[7]]
    for follower in followers:
        await follower.stop()
        await follower.stop()
    assert store._hub.followers == {}


@in_loop
async def test_memory_estimate_includes_metadata() -> None:
    """What a conversation is created with is in the estimate, until it is gone."""
    store = MemoryConversationStore()
    id = await store.create(owner="ann", metadata={"text": "x" * 100_000})
    assert store._bytes > 100_000
    await store.delete(id)
    assert store._bytes == 0


@in_loop
async def test_memory_estimate_returns_to_zero() -> None:
    """What is added to the estimate is taken off again, whatever way a conversation goes."""
    clock = FakeClock()
    store = MemoryConversationStore(clock=clock, window=3, max_conversations=2)
    for _ in range(5):
        id = await store.create()
        for number in range(7):
            data = {"type": "x", "items": list(range(number))}
            await store.add_message(id, Message("assistant", "é" * number, structured_data=data))
    await store.delete(id)
    clock.advance(4000)
    assert (await store.list(), store._bytes) == ([], 0)
