"""The contract of conversation stores, over the client and a real server. A client follows one
conversation, never all."""

from collections.abc import Iterator
from typing import Any

import pytest

from cortext import CortextError, InvalidIdError, MemoryConversationStore, SessionNotFoundError
from cortext.asgi import create_app
from cortext.client import AsyncClient
from tests.service.http.background import Background
from tests.service.stores.conformance import ConversationStoreSuite
from tests.service.stores.conformance_base import NOBODY, say, texts
from tests.service.stores.loops import in_loop

TOKENS = {"a" * 20: "", "b" * 20: "ann", "c" * 20: "bob"}
NOBODYS, ANNS, BOBS = TOKENS


class Place:
    """One server, which the first who opens it starts."""

    def __init__(self) -> None:
        self.server: Background | None = None

    def address(self, **options: Any) -> str:
        if self.server is None:
            store = MemoryConversationStore(**options)
            self.server = Background(create_app(store, tokens=TOKENS, close=True)).start()
        return self.server.url


class TestClient(ConversationStoreSuite):
    @pytest.fixture
    def place(self) -> Iterator[Place]:
        it = Place()
        yield it
        if it.server is not None:
            it.server.stop()

    def open(self, place: Place, token: str = NOBODYS, **options: Any) -> Any:
        return AsyncClient(place.address(**options), token)

    @in_loop
    async def test_get_or_create_returns_existing_or_creates_under_new_id(
        self, place: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One that is there is given; otherwise a new one, under another id. The server's log is
        its own."""
        async with self.opened(place) as store:
            id = await store.create()
            await store.add_message(id, say("hello"))
            assert await store.get_or_create(id) == await store.get(id)
            new = await store.get_or_create(NOBODY)
            assert (new.id != NOBODY, new.messages) == (True, [])
            assert (await store.get_or_create()).messages == []

    @in_loop
    async def test_token_cannot_reach_conversations_of_another_token(self, place: Any) -> None:
        """Who knows the id of another token's conversation gets a new one, or nothing."""
        async with self.opened(place, token=ANNS) as ann, self.opened(place, token=BOBS) as bob:
            id, other = await ann.create(), await bob.create()
            await ann.add_message(id, say("secret"))
            for owner in ("", None, "ann", "/ann", "../ann"):
                foreign = await bob.get_or_create(id, owner=owner)
                assert (foreign.id != id, foreign.messages) == (True, [])
                await bob.delete(foreign.id)
            assert await bob.get(id) is None
            assert [(entry.id, entry.owner) for entry in await bob.list()] == [(other, "bob")]

    @in_loop
    async def test_events_refuse_invalid_id_and_deliver_nothing_for_unknown_id(
        self, place: Any
    ) -> None:
        """The server knows that there is no such conversation, and says so."""
        async with self.opened(place) as store:
            with pytest.raises(SessionNotFoundError):
                await store.events(NOBODY).start()
            with pytest.raises(InvalidIdError):
                store.events("../up")
            with pytest.raises(CortextError, match="subscription is not active"):
                await anext(store.events(await store.create()))

    @in_loop
    async def test_events_report_changes_in_order_from_subscription_on(self, place: Any) -> None:
        """Who follows a conversation hears what is added, in order, and its end."""
        async with self.opened(place) as store:
            one, two = await store.create(), await store.create()
            await store.add_message(two, say("before"))
            async with store.events(two) as events:
                message = say("line\u2028\n", structured_data={"type": "x"})
                await store.add_message(one, message)
                await store.add_message(two, message)
                await store.add_message(two, message)
                await store.add_message(two, say("last"))
                heard = [await anext(events) for _ in range(2)]
                assert [event.kind for event in heard] == ["message", "message"]
                assert heard[0].message == message
                await store.delete(two)
                assert [(e.kind, e.id) async for e in events] == [("deleted", two)]

    @in_loop
    async def test_subscription_reports_expiry_once(self, place: Any) -> None:
        """Who follows hears once that a conversation expired."""
        async with self.opened(place, ttl=0.5) as store:
            id = await store.create()
            async with store.events(id) as events:
                assert [(e.kind, e.id) async for e in events] == [("expired", id)]

    @in_loop
    async def test_client_summary_and_references_match_local_store(self, place: Any) -> None:
        """They are what a store here would say."""
        async with self.opened(place) as store:
            id = await store.create()
            data = {"type": "search", "query": "React libraries", "items": [{"name": "Zustand"}]}
            await store.add_message(id, say("x", structured_data=data))
            found = await store.summary(id)
            assert found is not None
            assert (found.text, found.data) == ("Previous: searched for React libraries", data)
            assert (await store.resolve_reference(id, "it")).item == {"name": "Zustand"}
            assert texts(found.messages) == ["x"]
