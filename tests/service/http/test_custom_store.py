"""The HTTP service over a store with the five methods of the specification and nothing else."""

import asyncio
from collections.abc import Iterator

import pytest

from cortext import Message, SessionNotFoundError
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop
from tests.service.stores.plain_store import PlainStore

TOKENS = {f"{name}s-long-enough-token": name for name in ("anna", "bob")}
ANNA, BOB = TOKENS
SEARCH = {"type": "search", "query": "React libraries", "items": ["Redux", "Zustand"]}


@pytest.fixture
def plain() -> PlainStore:
    return PlainStore()


@pytest.fixture
def url(plain: PlainStore) -> Iterator[str]:
    with in_background(create_app(plain, tokens=TOKENS, pages=True, close=True)) as found:
        yield found


def test_client_supports_every_operation_over_five_method_store(
    url: str, plain: PlainStore
) -> None:
    with Client(url, ANNA) as client:
        id = client.create(metadata={"title": "React"})
        question = Message("user", "search for React libraries")
        assert client.add_if_new(id, question)
        assert not client.add_if_new(id, question)
        client.add_message(id, Message("assistant", "Two.", structured_data=SEARCH))
        assert [message.role for message in client.get_history(id)] == ["user", "assistant"]
        assert client.getHistory(id, 1) == client.get_history(id)[-1:]
        summary = client.summary(id)
        assert summary is not None
        assert (summary.text, summary.types) == (
            "Previous: searched for React libraries", ["search"],
        )  # fmt: skip
        assert client.resolve_reference(id, "the second one").item == "Zustand"
        assert client.set_metadata(id, {"n": 1}) == {"title": "React", "n": 1}
        assert [entry.id for entry in client.list()] == [id]
        assert client.get_or_create(id).id == id
        client.delete(id)
        assert client.get(id) is None
    assert plain.conversations == {}


def test_client_cannot_reach_conversations_of_others_in_five_method_store(
    url: str, plain: PlainStore
) -> None:
    with Client(url, ANNA) as anna, Client(url, BOB) as bob:
        id = anna.create()
        assert bob.get(id) is None
        assert bob.list() == []
        with pytest.raises(SessionNotFoundError):
            bob.add_message(id, Message("user", "x"))
        assert anna.get(id) is not None
    # After a restart the owner is not known: nobody but the owner "" reaches the conversation.
    with in_background(create_app(plain, tokens=TOKENS)) as again:
        for token in TOKENS:
            with Client(again, token) as client:
                assert client.get(id) is None


@in_loop
async def test_stream_reports_messages_written_directly_to_five_method_store(
    url: str, plain: PlainStore
) -> None:
    async with AsyncClient(url, ANNA) as client:
        id = await client.create()
        async with client.events(id) as events:
            await client.addMessage(id, Message("user", "through the service"))
            assert (await anext(events)).message.content == "through the service"  # type: ignore[union-attr]
            await asyncio.to_thread(
                lambda: asyncio.run(plain.add_message(id, Message("user", "elsewhere")))
            )
            assert (await anext(events)).message.content == "elsewhere"  # type: ignore[union-attr]
            await client.delete(id)
            assert (await anext(events)).kind == "deleted"
