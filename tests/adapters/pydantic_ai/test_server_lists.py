"""Lists of conversations on a server."""

import asyncio
from typing import Any

import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, UserPromptPart

from cortext.adapters.pydantic_ai import CortextConversationStore
from cortext.stores.servers.redis_store import RedisStore


def test_read_records_never_asks_for_single_sessions(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come with their last records: none is asked for by itself."""
    store = CortextConversationStore(redis_url)
    for number in range(3):
        messages: list[Any] = [ModelRequest([UserPromptPart(f"question {number}")])]
        made = Conversation(conversation_id=f"c{number}", messages=messages)
        asyncio.run(store.save(made, scope="ada"))

    def never(*_: Any) -> None:
        raise AssertionError("a session was asked for by itself")

    for name in ("tail", "read", "head", "since"):
        monkeypatch.setattr(RedisStore, name, never)
    for scope, found in (("ada", ["c0", "c1", "c2"]), ("bob", [])):
        records = asyncio.run(store.read_records(scope=scope))
        assert sorted(record.conversation_id for record in records) == found
