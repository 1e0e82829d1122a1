"""Conversations on a real Redis."""

import asyncio

from pydantic_ai import Conversation
from pydantic_ai.conversation_store import ConversationConflict

from cortext.adapters.pydantic_ai import CortextConversationStore
from tests.adapters.children import FORK
from tests.adapters.pydantic_ai.saved_messages import said, save_at_once, texts
from tests.adapters.pydantic_ai.store_checks import check_messages_round_trip, check_store_steps
from tests.adapters.servers import eight_write, fleet_of, in_each_ones_order


def test_redis_messages_round_trip(redis_url: str) -> None:
    """As from a folder."""
    check_messages_round_trip(redis_url)


def test_redis_conversation_store_behaves_like_framework_store(redis_url: str) -> None:
    """Step by step the same as the framework's own store."""
    check_store_steps(redis_url)


def write(url: str, name: str, count: int) -> None:
    async def main() -> None:
        store = CortextConversationStore(url)
        for number in range(count):
            while True:
                mine = await store.load("shared") or Conversation(conversation_id="shared")
                mine.messages.append(said(f"{name}-{number}"))
                try:
                    await store.save(mine)
                except ConversationConflict:
                    continue
                break

    asyncio.run(main())


def test_eight_processes_save_one_conversation_without_loss(redis_url: str) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    written = eight_write(write, redis_url, 5)
    loaded = asyncio.run(CortextConversationStore(redis_url).load("shared"))
    assert loaded is not None
    in_each_ones_order(texts(loaded.messages), written)


def test_one_of_two_concurrent_saves_raises_conflict(redis_url: str) -> None:
    """Over and over: the lock is between processes, wherever they are."""
    store = CortextConversationStore(redis_url)
    for round in range(5):
        asyncio.run(store.delete("s"))
        first = Conversation(conversation_id="s", messages=[said("first")])
        asyncio.run(store.save(first))
        ready, outcome = FORK.Barrier(2), FORK.Queue()
        args = [(redis_url, name, ready, outcome) for name in ("a", "b")]
        writers = [FORK.Process(target=save_at_once, args=each) for each in args]
        for writer in writers:
            writer.start()
        got = sorted(outcome.get(timeout=60) for _ in writers)
        for writer in writers:
            writer.join(60)
        assert got[1] == "conflict", round
        loaded = asyncio.run(store.load("s"))
        assert loaded is not None
        assert texts(loaded.messages) == ["first", got[0]]


def test_how_to_page_redis_example_works(redis_url: str) -> None:
    """Its line, with a server that is there."""
    store = fleet_of("pydantic-ai.md", redis_url)
    asyncio.run(store.save(Conversation(conversation_id="s", messages=[said("hi")]), scope="ada"))
    (found,) = asyncio.run(CortextConversationStore(redis_url).list_conversations(scope="ada"))
    assert found.conversation_id == "s"
