"""Clients in hard use: forks, threads, loops, cancellation, and servers that die."""

import asyncio
import os
import random
import socket
import threading
from collections.abc import Iterator

import pytest

from cortext import CortextError, MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client
from cortext.service.stores.conversation_events import Event
from tests.client.faulty_servers import answer, talking
from tests.client.wire import Wire
from tests.service.http.background import Background
from tests.service.stores.loops import PATIENCE, in_loop

TOKEN = "t" * 20
NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"


@pytest.fixture(scope="module")
def server() -> Iterator[Background]:
    store = MemoryConversationStore(window=5000)
    it = Background(create_app(store, tokens={TOKEN: ""})).start()
    yield it
    it.stop()


def _text(event: Event) -> str:
    assert event.message is not None
    return event.message.content


def _texts(client: Client, id: str) -> list[str]:
    return [message.content for message in client.get_history(id)]


def test_closed_client_can_be_used_again(server: Background) -> None:
    """As a store can; to close it twice is nothing."""
    client = Client(server.url, TOKEN)
    id = client.create()
    client.close()
    client.close()
    client.add_message(id, Message("user", "after"))
    assert _texts(client, id) == ["after"]
    client.close()


def test_forked_child_and_parent_use_separate_connections(server: Background) -> None:
    """Parent and child go on side by side, and what the child closes is its own."""
    with Client(server.url, TOKEN) as client:
        id = client.create()
        child = os.fork()
        if child == 0:  # the child: no test framework in here
            code = 1
            try:
                for number in range(50):
                    client.add_message(id, Message("user", f"child {number}"))
                client.close()
                code = 0
            finally:
                os._exit(code)
        for number in range(50):
            client.add_message(id, Message("user", f"parent {number}"))
        assert os.waitpid(child, 0)[1] == 0
        found = _texts(client, id)
    for who in ("child", "parent"):
        assert [each for each in found if who in each] == [f"{who} {n}" for n in range(50)]


def test_close_in_forked_child_keeps_connection_of_parent(
    server: Background, cut_wire: Wire
) -> None:
    """The connection that both have stays the parent's."""
    with Client(cut_wire.url, TOKEN) as client:
        id = client.create()
        child = os.fork()
        if child == 0:
            client.close()
            os._exit(0)
        os.waitpid(child, 0)
        client.add_message(id, Message("user", "x"))
        assert cut_wire.connections == 1


def test_calls_of_other_threads_survive_close(server: Background) -> None:
    """Calls of others that are under way are made anew, and lose nothing."""
    client = Client(server.url, TOKEN, timeout=PATIENCE)
    id = client.create()
    failures: list[BaseException] = []

    def add(who: int) -> None:
        try:
            for number in range(40):
                client.add_message(id, Message("user", f"{who} {number}"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=(who,)) for who in range(4)]
    for each in threads:
        each.start()
    while alive := [each for each in threads if each.is_alive()]:
        client.close()
        alive[0].join(0.2)
    assert failures == []
    found = _texts(client, id)
    client.close()
    for who in range(4):
        mine = [each for each in found if each.startswith(f"{who} ")]
        assert mine == [f"{who} {number}" for number in range(40)]


def test_closing_client_ends_blocked_event_iteration(server: Background) -> None:
    """A thread that waits for events does not wait on."""
    client = Client(server.url, TOKEN)
    id = client.create()
    client.add_message(id, Message("user", "one"))
    events = client.events(id, after="")
    assert _text(next(events)) == "one"
    rest: list[list[Event]] = []
    thread = threading.Thread(target=lambda: rest.append([*events]), daemon=True)
    thread.start()
    client.close()
    thread.join(PATIENCE)
    assert rest == [[]]


@in_loop
async def test_closing_async_client_ends_its_subscriptions(server: Background) -> None:
    """After what was heard already; then the client can be used again."""
    client = AsyncClient(server.url, TOKEN)
    id = await client.create()
    async with client.events(id) as events:
        await client.add_message(id, Message("user", "one"))
        assert _text(await anext(events)) == "one"
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        await client.aclose()
        with pytest.raises(StopAsyncIteration):
            await waiting
    assert len(await client.get_history(id)) == 1
    await client.aclose()


def test_async_client_refuses_second_running_event_loop(server: Background) -> None:
    """As by every store: connections belong to a loop."""
    client = AsyncClient(server.url, TOKEN)
    errors: list[BaseException] = []

    async def elsewhere() -> None:
        await client.list()

    def run() -> None:
        try:
            asyncio.run(elsewhere())
        except CortextError as error:
            errors.append(error)

    async def here() -> None:
        await client.create()
        await asyncio.to_thread(run)
        await client.create()
        await client.aclose()

    asyncio.run(here())
    assert [str(each) for each in errors] == [
        "this client is already used by another running event loop"
    ]
    assert errors[0].__class__ is CortextError


@in_loop
async def test_timeout_around_anext_loses_no_event(server: Background) -> None:
    """A time-out around `anext` loses neither the events nor the stream."""
    async with AsyncClient(server.url, TOKEN) as client:
        id = await client.create()
        async with client.events(id) as events:
            for number in range(5):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(events), 0.02)
                await client.add_message(id, Message("user", str(number)))
                assert _text(await anext(events)) == str(number)


@in_loop
async def test_cancelled_add_can_be_repeated_and_is_stored_once(server: Background) -> None:
    """A message whose adding was cut off at any moment is stored once when it is added again,
    and no connection is spoilt or kept by that."""
    rng = random.Random(7)
    async with AsyncClient(server.url, TOKEN) as client:
        id = await client.create()
        cancelled = 0
        for number in range(150):
            message = Message("user", str(number))
            adding = asyncio.ensure_future(client.add_message(id, message))
            await asyncio.sleep(rng.uniform(0, 0.004))
            cancelled += adding.cancel()
            await asyncio.wait([adding])
            await client.add_message(id, message)
        assert cancelled > 10
        found = [message.content for message in await client.get_history(id)]
        assert found == [str(number) for number in range(150)]


@in_loop
async def test_calls_do_not_wait_for_many_event_followers(server: Background) -> None:
    """Each follower has a connection; there is always another one for a call."""
    async with AsyncClient(server.url, TOKEN, timeout=PATIENCE) as client:
        id = await client.create()
        followers = [client.events(id) for _ in range(120)]
        await asyncio.gather(*(each.start() for each in followers))
        await client.add_message(id, Message("user", "to all"))
        heard = await asyncio.gather(*(anext(each) for each in followers))
        assert {_text(each) for each in heard} == {"to all"}
        await asyncio.gather(*(each.stop() for each in followers))


def _follow_a_cut_wire(client: Client, id: str, heard: list[str], count: int) -> None:
    for event in client.events(id, after=""):
        heard.append(_text(event))
        if len(heard) == count:
            return


def test_messages_and_events_survive_repeated_connection_cuts(
    server: Background, cut_wire: Wire
) -> None:
    """Adding and following over it: every message once and in order, on both sides."""
    rng = random.Random(11)
    count = 120
    heard: list[str] = []
    with (
        Client(server.url, TOKEN) as direct,
        Client(cut_wire.url, TOKEN, timeout=PATIENCE) as client,
        Client(cut_wire.url, TOKEN, timeout=PATIENCE) as other,
    ):
        id = direct.create()
        args = (other, id, heard, count)
        thread = threading.Thread(target=_follow_a_cut_wire, args=args, daemon=True)
        thread.start()
        for number in range(count):
            if rng.random() < 0.15:
                cut_wire.cut()
            client.add_message(id, Message("user", str(number)))
        thread.join(PATIENCE)
        wanted = [str(number) for number in range(count)]
        assert _texts(direct, id) == wanted
        assert heard == wanted
    assert cut_wire.connections > 10


@in_loop
async def test_truncated_response_is_discarded_and_call_is_retried(server: Background) -> None:
    """What can be repeated is, with half an answer thrown away; nothing half is believed."""
    good = answer(200, b'{"messages":[]}')
    cuts = [1, 20, len(good) - 5, len(good) - 1]
    left = [*cuts]

    def talk(wire: socket.socket, _request: bytes) -> None:
        cut = left.pop(0) if left else len(good)
        wire.sendall(good[:cut])
        if cut < len(good):
            wire.shutdown(socket.SHUT_RDWR)

    def ask(url: str) -> list[Message]:
        with Client(url, timeout=PATIENCE) as client:
            return client.get_history(NOBODY)

    with talking(talk) as url:
        assert await asyncio.to_thread(ask, url) == []
        left[:] = cuts
        async with AsyncClient(url, timeout=PATIENCE) as other:
            assert await other.get_history(NOBODY) == []


@in_loop
async def test_slow_listener_receives_more_events_than_buffer_holds(server: Background) -> None:
    """More events than are kept waiting here come all, once somebody listens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cortext.client.event_follower._MOST_WAITING", 20)
        async with AsyncClient(server.url, TOKEN, timeout=PATIENCE) as client:
            id = await client.create()
            wanted = [str(number) for number in range(300)]
            async with client.events(id) as events:
                for text in wanted:
                    await client.add_message(id, Message("user", text))
                assert [_text(await anext(events)) for _ in wanted] == wanted
