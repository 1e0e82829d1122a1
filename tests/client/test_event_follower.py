"""Following a conversation over connections that break."""

from collections.abc import Iterator
from typing import Any

import pytest

from cortext import InvalidIdError, MemoryConversationStore, Message, SessionNotFoundError
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client, ServiceError
from cortext.service.stores.conversation_events import Event
from tests.client.wire import Wire
from tests.service.http.background import Background
from tests.service.stores.loops import in_loop

TOKEN = "t" * 20
NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"


@pytest.fixture
def server() -> Iterator[Background]:
    it = Background(create_app(MemoryConversationStore(), tokens={TOKEN: ""})).start()
    yield it
    it.stop()


def _say(client: Client, id: str, *texts: str) -> None:
    for text in texts:
        client.add_message(id, Message("user", text))


def _text(event: Event) -> str:
    assert event.message is not None
    return event.message.content


def test_events_said_during_connection_cut_arrive_once_in_order(
    server: Background, cut_wire: Wire
) -> None:
    """Each message once and in order, whichever side of the cut it was said on."""
    with Client(server.url, TOKEN) as direct, Client(cut_wire.url, TOKEN) as client:
        id = direct.create()
        _say(direct, id, "before")
        events = client.events(id, after="")
        assert _text(next(events)) == "before"
        for number in range(3):
            cut_wire.cut()
            _say(direct, id, f"{number} one", f"{number} two")
            assert [_text(next(events)) for _ in range(2)] == [f"{number} one", f"{number} two"]
        assert cut_wire.connections == 4
        direct.delete(id)
        assert [event.kind for event in events] == ["deleted"]


@in_loop
async def test_events_arrive_when_connection_is_cut_before_first_event(
    server: Background, cut_wire: Wire
) -> None:
    """A stream says where it begins, so what comes next is not missed; an empty conversation
    has a beginning too."""
    for before in ([], ["before"]):
        async with (
            AsyncClient(server.url, TOKEN) as direct,
            AsyncClient(cut_wire.url, TOKEN) as client,
        ):
            id = await direct.create()
            for text in before:
                await direct.add_message(id, Message("user", text))
            async with client.events(id) as events:
                cut_wire.cut()
                await direct.add_message(id, Message("user", "one"))
                await direct.add_message(id, Message("user", "two"))
                assert [_text(await anext(events)) for _ in range(2)] == ["one", "two"]
                await direct.delete(id)
                assert [event.kind async for event in events] == ["deleted"]


@in_loop
async def test_events_continue_after_server_restart() -> None:
    """A stream that a server ended because it stops goes on with the next one."""
    store = MemoryConversationStore()
    first = Background(create_app(store, tokens={TOKEN: ""}, close=True)).start()
    async with AsyncClient(first.url, TOKEN) as client:
        id = await client.create()
        async with client.events(id) as events:
            await client.add_message(id, Message("user", "one"))
            assert _text(await anext(events)) == "one"
            first.stop()
            again = create_app(store, tokens={TOKEN: ""}, close=True)
            second = Background(again, first.port).start()
            try:
                await client.add_message(id, Message("user", "two"))
                assert _text(await anext(events)) == "two"
            finally:
                second.stop()


def test_follower_reports_deletion_after_reconnecting(server: Background, cut_wire: Wire) -> None:
    """Who asks again for what was deleted hears that."""
    with Client(server.url, TOKEN) as direct, Client(cut_wire.url, TOKEN) as client:
        id = direct.create()
        _say(direct, id, "one")
        events = client.events(id, after="")
        next(events)
        cut_wire.is_down = True
        cut_wire.cut()
        direct.delete(id)
        cut_wire.is_down = False
        assert [event.kind for event in events] == ["deleted"]


def test_follower_raises_when_server_stays_unreachable(server: Background, cut_wire: Wire) -> None:
    """After the time-out, in words, also if it was never there; at once without retries."""
    with Client(server.url, TOKEN) as direct, Client(cut_wire.url, TOKEN, timeout=5) as client:
        id = direct.create()
        _say(direct, id, "one")
        events = client.events(id, after="")
        next(events)
        cut_wire.is_down = True
        cut_wire.cut()
        with pytest.raises(ServiceError, match=r"the connection to .* broke") as caught:
            next(events)
        assert caught.value.code == "unreachable"
        before = cut_wire.connections
        with pytest.raises(ServiceError):
            next(client.events(id))
        assert cut_wire.connections > before + 1
        before = cut_wire.connections
        with Client(cut_wire.url, TOKEN, retries=0) as hasty, pytest.raises(ServiceError):
            next(hasty.events(id))
        assert cut_wire.connections == before + 1
        with pytest.raises(SessionNotFoundError):
            next(direct.events(NOBODY))


def test_synchronous_client_resolves_references(server: Background) -> None:
    """`resolve_reference` says what a store here would say."""
    with Client(server.url, TOKEN) as client:
        id = client.create()
        data = {"type": "search", "items": [{"name": "Redux"}, {"name": "Zustand"}]}
        client.add_message(id, Message("assistant", "Two.", structured_data=data))
        assert client.resolve_reference(id, "the second one").item == {"name": "Zustand"}


@pytest.mark.parametrize("odd", ["\ud800", "é ü/?&#%+", "a\nb", "x" * 256])
def test_message_with_unusual_id_is_received_once_after_cuts(
    server: Background, cut_wire: Wire, odd: str
) -> None:
    """Also when the wire is cut right after it, twice."""
    with Client(server.url, TOKEN) as direct, Client(cut_wire.url, TOKEN) as client:
        id = direct.create()
        _say(direct, id, "first")
        direct.add_message(id, Message("user", "odd", id=odd))
        events = client.events(id, after="")
        assert [_text(next(events)) for _ in range(2)] == ["first", "odd"]
        for text in ("two", "three"):
            cut_wire.cut()
            _say(direct, id, text)
            assert _text(next(events)) == text


@pytest.mark.parametrize("after", ["\ud800", 7])
def test_events_refuse_invalid_after_and_id_at_once(after: Any) -> None:
    """At once, before anybody listens."""
    for client in (Client("http://127.0.0.1:1"), AsyncClient("http://127.0.0.1:1")):
        with pytest.raises(ValueError, match="after must be the id of a message"):
            client.events(NOBODY, after=after)
        with pytest.raises(InvalidIdError):
            client.events("../up")
