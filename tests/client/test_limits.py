"""How many messages and conversations a client gets: as many as it asks for."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cortext import MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client, ServiceError
from tests.client.faulty_servers import listing, talking
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop

TOKEN = "t" * 20
MANY = 1100


@contextmanager
def holding(count: int) -> Iterator[tuple[str, str, list[Message]]]:
    """A server with a conversation of so many messages: its address, the id, and they."""
    store = MemoryConversationStore(window=20_000)
    messages = [Message("user", f"{number} é") for number in range(count)]

    async def fill() -> str:
        id = await store.create()
        for message in messages:
            await store.add_message(id, message)
        await store.aclose()
        return id

    id = asyncio.run(fill())
    with in_background(create_app(store, tokens={TOKEN: ""}, close=True)) as url:
        yield url, id, messages


@pytest.fixture(scope="module")
def long() -> Iterator[tuple[str, str, list[Message]]]:
    """More messages than a server takes for a limit."""
    with holding(MANY) as it:
        yield it


@pytest.mark.parametrize("limit", [0, 1, 999, 1000, 1001, 1099, 1100, 1101, 10**20, None])
def test_get_history_returns_exactly_limit_messages(
    long: tuple[str, str, list[Message]], limit: int | None
) -> None:
    """The last so many, also over 1,000, as a store here has it."""
    url, id, messages = long
    wanted = messages if limit is None else messages[max(MANY - limit, 0) :]
    with Client(url, TOKEN) as client:
        assert client.get_history(id, limit) == wanted


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
def test_client_refuses_invalid_limit(limit: Any) -> None:
    """Before anybody is asked."""
    client = Client("http://127.0.0.1:1")
    with pytest.raises(ValueError, match="limit must be a whole number from 0"):
        client.get_history("x", limit)
    with pytest.raises(ValueError, match="limit must be a whole number from 0"):
        client.list(limit=limit)


def _entries(count: int, at_once: int = 1) -> list[dict[str, Any]]:
    """Newest first; so many were created at the same time."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = [(begin + timedelta(seconds=n // at_once)).isoformat() for n in range(count)]
    rows = [{"id": f"c{n}", "createdAt": at, "updatedAt": at} for n, at in enumerate(times)]
    return rows[::-1]


@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 3456])
@in_loop
async def test_list_returns_exactly_limit_conversations_over_pages(
    count: int, at_once: int
) -> None:
    """Page by page, in order, each conversation once."""
    entries = _entries(count, at_once)
    ids = [each["id"] for each in entries]
    with talking(listing(entries, pages=True)) as url:
        async with AsyncClient(url) as client:
            for limit in (0, 1, 1000, 1001, 2500, 10**20, None):
                found = await client.list(limit=limit)
                assert [each.id for each in found] == ids[:limit]
        with Client(url) as other:
            assert [each.id for each in other.list(limit=None)] == ids


def test_list_raises_when_server_without_pages_truncates() -> None:
    """What it cannot give is an error, never a list that looks whole."""
    with talking(listing(_entries(1001), pages=False)) as url, Client(url) as client:
        assert len(client.list(limit=1000)) == 1000
        for limit in (None, 1001):
            with pytest.raises(ServiceError, match="lists only 1,000") as caught:
                client.list(limit=limit)
            assert (caught.value.code, bool(caught.value.hint)) == ("too-many", True)
    with talking(listing(_entries(999), pages=False)) as url, Client(url) as client:
        assert len(client.list(limit=None)) == 999


def test_history_and_events_return_ten_thousand_messages() -> None:
    """A long conversation comes whole, and so do its events."""
    with holding(10_000) as (url, id, wanted), Client(url, TOKEN, timeout=60) as client:
        assert client.get_history(id) == wanted
        events = client.events(id, after="")
        assert [next(events).message for _ in wanted] == wanted
        more = Message("user", "more")
        client.add_message(id, more)
        assert next(events).message == more
