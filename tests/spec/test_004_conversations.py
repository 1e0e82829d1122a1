"""Conversations of an agent coordinator: spec 004, on a clock that the tests move."""

import asyncio
import inspect
import json
import logging
import typing
import uuid
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cortext import (
    Conversation,
    ConversationStore,
    MemoryConversationStore,
    Message,
    PostgresConversationStore,
    RedisConversationStore,
)  # fmt: skip
from cortext.client import AsyncClient, Client
from tests.service.stores.loops import FakeClock
from tests.service.stores.servers import RedisServer

HOUR = 3_600_000 / 1000


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "cortext.conversations")
    return caplog


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> MemoryConversationStore:
    return MemoryConversationStore(clock=clock)


async def talk(store: ConversationStore, id: str, count: int) -> None:
    for number in range(count):
        await store.add_message(id, Message("user", f"message {number}"))


def test_create_new_conversation(store: MemoryConversationStore) -> None:
    """Conversation Lifecycle Management: Create new conversation"""

    async def scenario() -> None:
        before = datetime.now(UTC)
        ids = [await store.create() for _ in range(50)]
        assert len(set(ids)) == 50
        assert {uuid.UUID(id).version for id in ids} == {4}
        found = await store.get(ids[0])
        assert found is not None
        assert found.messages == []
        assert before <= found.created_at == found.updated_at <= datetime.now(UTC)
        on_the_wire = json.loads(msgspec.json.encode(found))
        assert {"id", "messages", "createdAt", "updatedAt"} == on_the_wire.keys()

    asyncio.run(scenario())


def test_load_existing_conversation(
    store: MemoryConversationStore, logged: pytest.LogCaptureFixture
) -> None:
    """Conversation Lifecycle Management: Load existing conversation"""

    async def scenario() -> None:
        id = await store.create()
        await talk(store, id, 25)
        found = await store.get_or_create(id)
        assert found.id == id
        assert [m.content for m in found.messages] == [f"message {n}" for n in range(5, 25)]
        missing = str(uuid.uuid4())
        new = await store.get_or_create(missing)
        assert (new.messages, await store.get(new.id)) == ([], new)
        assert new.id not in (missing, id)
        assert any(missing in line and new.id in line for line in logged.messages)

    asyncio.run(scenario())


def test_update_conversation(store: MemoryConversationStore) -> None:
    """Conversation Lifecycle Management: Update conversation"""

    async def scenario() -> None:
        id = await store.create()
        await talk(store, id, 20)
        full = await store.get(id)
        await store.add_message(id, Message("user", "one more"))
        after = await store.get(id)
        assert full is not None
        assert after is not None
        assert after.messages[:-1] == full.messages[1:]
        assert after.messages[-1].content == "one more"
        assert after.updated_at > full.updated_at
        assert after.created_at == full.created_at

    asyncio.run(scenario())


def test_delete_conversation(
    store: MemoryConversationStore, clock: FakeClock, logged: pytest.LogCaptureFixture
) -> None:
    """Conversation Lifecycle Management: Delete conversation"""

    async def scenario() -> None:
        by_hand, by_cleanup = await store.create(), await store.create()
        await store.delete(by_hand)
        assert await store.get(by_hand) is None
        clock.advance(HOUR)
        assert await store.get(by_cleanup) is None
        assert f"conversation {by_hand} deleted" in logged.messages
        assert any(
            line.startswith(f"conversation {by_cleanup} expired") for line in logged.messages
        )

    asyncio.run(scenario())


def test_schedule_cleanup_on_creation(
    store: MemoryConversationStore, clock: FakeClock, logged: pytest.LogCaptureFixture
) -> None:
    """Automatic TTL-Based Cleanup: Schedule cleanup on creation"""

    async def scenario() -> None:
        id = await store.create()
        clock.advance(HOUR - 0.001)
        assert not any("expired" in line for line in logged.messages)
        assert await store.get(id) is not None
        clock.advance(0.001)
        # Nobody called the store: its own timer did this.
        assert any(line.startswith(f"conversation {id} expired") for line in logged.messages)
        assert await store.get(id) is None

    asyncio.run(scenario())


def test_reset_cleanup_timer_on_activity(
    store: MemoryConversationStore, clock: FakeClock, logged: pytest.LogCaptureFixture
) -> None:
    """Automatic TTL-Based Cleanup: Reset cleanup timer on activity"""

    async def scenario() -> None:
        id = await store.create()
        for _ in range(3):
            clock.advance(HOUR - 1)
            await store.add_message(id, Message("user", "still here"))
        clock.advance(HOUR - 1)
        assert await store.get(id) is not None
        assert len(clock.calls) == 1
        # Reading is no activity.
        clock.advance(1)
        assert any(line.startswith(f"conversation {id} expired") for line in logged.messages)

    asyncio.run(scenario())


def test_enforce_max_conversation_limit(
    store: MemoryConversationStore, logged: pytest.LogCaptureFixture
) -> None:
    """Automatic TTL-Based Cleanup: Enforce max conversation limit"""

    async def scenario() -> None:
        ids = [await store.create() for _ in range(1000)]
        await store.add_message(ids[0], Message("user", "the oldest, and busy"))
        assert not any(record.levelno >= logging.WARNING for record in logged.records)
        ids += [await store.create() for _ in range(2)]
        there = [id for id in ids if await store.get(id) is not None]
        assert there == ids[2:]
        warnings = [r.getMessage() for r in logged.records if r.levelno == logging.WARNING]
        assert [ids[0] in warnings[0], ids[1] in warnings[1], len(warnings)] == [True, True, 2]

    asyncio.run(scenario())


def test_user_message_format(store: MemoryConversationStore) -> None:
    """Message Structure: User message format"""

    async def scenario() -> None:
        id = await store.create()
        before = datetime.now(UTC)
        await store.add_message(id, Message(role="user", content="Find React libraries"))
        (found,) = await store.get_history(id)
        assert (found.role, found.content) == ("user", "Find React libraries")
        assert before <= found.timestamp <= datetime.now(UTC)
        on_the_wire = json.loads(msgspec.json.encode(found))
        assert on_the_wire.keys() == {"role", "content", "timestamp", "id"}
        assert datetime.fromisoformat(on_the_wire["timestamp"]) == found.timestamp

    asyncio.run(scenario())


def test_assistant_message_format(store: MemoryConversationStore) -> None:
    """Message Structure: Assistant message format"""
    data = {"type": "search", "query": "React", "items": [{"name": "Zustand", "stars": 40000}]}

    async def scenario() -> None:
        id = await store.create()
        message = Message("assistant", "# Found **one**", structured_data=data)
        await store.add_message(id, message)
        (found,) = await store.get_history(id)
        assert (found.role, found.content, found.structured_data) == (
            "assistant", "# Found **one**", data,
        )  # fmt: skip
        on_the_wire = msgspec.json.encode(found)
        assert json.loads(on_the_wire)["structuredData"] == data
        assert msgspec.json.decode(on_the_wire, type=Message) == message

    asyncio.run(scenario())


def test_message_history_retrieval(store: MemoryConversationStore) -> None:
    """Message Structure: Message history retrieval"""

    async def scenario() -> None:
        id = await store.create()
        for number in range(15):
            await store.add_message(id, Message("user", f"question {number}"))
            answer = Message("assistant", f"answer {number}", structured_data={"n": number})
            await store.add_message(id, answer)
        history = await store.get_history(id)
        assert [(m.role, m.content, m.structured_data) for m in history] == [
            row
            for n in range(5, 15)
            for row in (("user", f"question {n}", None), ("assistant", f"answer {n}", {"n": n}))
        ]
        assert [m.timestamp for m in history] == sorted(m.timestamp for m in history)

    asyncio.run(scenario())


def test_initialize_storage(logged: pytest.LogCaptureFixture) -> None:
    """Storage Implementation (In-Memory): Initialize storage"""
    store = MemoryConversationStore()
    assert "conversation storage mode: in-memory" in logged.messages
    assert asyncio.run(store.list()) == []


def test_handle_concurrent_access(store: MemoryConversationStore) -> None:
    """Storage Implementation (In-Memory): Handle concurrent access"""

    async def scenario() -> None:
        id = await store.create()

        async def client(name: str) -> None:
            for number in range(10):
                await store.add_message(id, Message("user", f"{name}{number}"))
                await asyncio.sleep(0)

        await asyncio.gather(client("a"), client("b"))
        said = [message.content for message in await store.get_history(id)]
        for name in "ab":
            assert [text for text in said if text[0] == name] == [f"{name}{n}" for n in range(10)]
        # No method waits for anything on its way, so none can see another half done.
        for call in (store.create(), store.get(id), store.add_message(id, Message("user", "x"))):
            with pytest.raises(StopIteration):
                call.send(None)

    asyncio.run(scenario())


def test_monitor_memory_usage(
    store: MemoryConversationStore, logged: pytest.LogCaptureFixture
) -> None:
    """Storage Implementation (In-Memory): Monitor memory usage"""

    def said(level: int) -> list[str]:
        return [r.getMessage() for r in logged.records if r.levelno == level and "MB" in r.msg]

    async def scenario() -> None:
        first = await store.create()
        await store.create()
        await store.delete(first)
        counts = [line.split(",")[0] for line in said(logging.INFO)]
        assert counts == ["1 conversation", "2 conversations", "1 conversation"]
        big = await store.create()
        for _ in range(9):
            await store.add_message(big, Message("user", "x" * 10_000_000))
        assert said(logging.WARNING) == []
        # One conversation that grows is enough, though the count stays.
        for _ in range(2):
            await store.add_message(big, Message("user", "x" * 10_000_000))
        assert said(logging.WARNING) == ["2 conversations, about 100.0 MB of memory"]
        await store.create()
        assert said(logging.WARNING)[1:] == ["3 conversations, about 110.0 MB of memory"]
        await store.delete(big)
        assert said(logging.INFO)[-1] == "2 conversations, about 0.0 MB of memory"

    asyncio.run(scenario())


async def routed(store: ConversationStore) -> str:
    """A conversation that began with a search and went on with an analysis."""
    id = await store.create()
    found = [{"name": "Redux"}, {"name": "Zustand"}, {"name": "Jotai"}]
    for message in (
        Message("user", "Find React libraries for state"),
        Message(
            "assistant", "Three are popular.",
            structured_data={"type": "search", "query": "React libraries", "items": found},
        ),
        Message("user", "analyze the second one"),
        Message(
            "assistant", "It is small.",
            structured_data={"type": "analysis", "subject": "Zustand", "size": "1 kB"},
        ),
    ):  # fmt: skip
        await store.add_message(id, message)
    return id


def test_generate_conversation_summary(store: MemoryConversationStore) -> None:
    """Conversation Context: Generate conversation summary"""

    async def scenario() -> None:
        id = await routed(store)
        summary = await store.summary(id)
        assert summary is not None
        assert summary.messages == (await store.get_history(id))[-3:]
        assert list(summary.types) == ["search", "analysis"]
        assert summary.text == "Previous: searched for React libraries, analyzed Zustand"
        # The requests alone say the same, also before the second one is answered.
        id = await store.create()
        await store.add_message(id, Message("user", "search for React libraries"))
        found = {"type": "search", "items": [{"name": "Zustand"}]}
        await store.add_message(id, Message("assistant", "One.", structured_data=found))
        await store.add_message(id, Message("user", "analyze Zustand"))
        asked = await store.summary(id)
        assert asked is not None
        assert asked.text == summary.text

    asyncio.run(scenario())


def test_support_contextual_references(store: MemoryConversationStore) -> None:
    """Conversation Context: Support contextual references"""

    async def scenario() -> None:
        id = await routed(store)
        for _ in range(4):
            await store.add_message(id, Message("user", "hm"))
        summary = await store.summary(id)
        assert summary is not None
        assert [m.content for m in summary.messages] == ["hm"] * 3
        assert summary.data == {"type": "analysis", "subject": "Zustand", "size": "1 kB"}
        second = await store.resolve_reference(id, "the second one")
        assert (second.item, second.position) == ({"name": "Zustand"}, 2)
        assert (await store.resolve_reference(id, "analyze it")).item == summary.data

    asyncio.run(scenario())


def test_implement_conversationstore_interface() -> None:
    """Export and Persistence Interface: Implement ConversationStore interface"""
    store: ConversationStore = MemoryConversationStore()
    hints = {
        name: typing.get_type_hints(getattr(ConversationStore, name))["return"]
        for name in vars(ConversationStore)
        if not name.startswith("_")
    }
    assert hints == {
        "create": str, "get": Conversation | None, "add_message": type(None),
        "get_history": list[Message], "delete": type(None),
    }  # fmt: skip
    stores = (MemoryConversationStore, RedisConversationStore, PostgresConversationStore)
    for name in (*hints, "addMessage", "getHistory"):
        for kind in (*stores, Client, AsyncClient):
            assert callable(getattr(kind, name))
    assert all(inspect.iscoroutinefunction(getattr(store, name)) for name in hints)
    assert list(inspect.signature(store.get_history).parameters) == ["id", "limit"]


@pytest.fixture
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server.url
    server.stop()


@pytest.mark.needs("redis-server", "to swap one store for the other")
def test_enable_implementation_swap(redis_url: str) -> None:
    """Export and Persistence Interface: Enable implementation swap"""

    async def coordinator(store: ConversationStore) -> list[tuple[str, str, Any]]:
        id = await routed(store)
        found = await store.get(id)
        assert found is not None
        history = await store.get_history(id, 2)
        assert history == found.messages[-2:]
        await store.delete(id)
        assert await store.get(id) is None
        return [(m.role, m.content, m.structured_data) for m in found.messages]

    async def both(run: Callable[[Any], Coroutine[Any, Any, Any]]) -> tuple[Any, Any]:
        async with MemoryConversationStore() as memory, RedisConversationStore(redis_url) as redis:
            return await run(memory), await run(redis)

    in_memory, in_redis = asyncio.run(both(coordinator))
    assert in_memory == in_redis
    assert len(in_memory) == 4
