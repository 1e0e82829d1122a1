"""A call ends within its time, whatever a server does; and what passes is waited for."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cortext import MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client, ServiceError
from tests.client.faulty_servers import Talk, answer, saying, talking
from tests.service.http.background import Background
from tests.service.stores.loops import in_loop

TOKEN = "t" * 20
NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"
LONG = 20.0
"""A server that takes so long is waited for by nobody who has a time-out of less than a second."""


def _dripping(data: bytes, done: threading.Event) -> Talk:
    """Sends a byte now and then, so that no single read takes long."""

    def talk(wire: socket.socket, _request: bytes) -> None:
        for each in data:
            if done.wait(0.1):
                return
            wire.sendall(bytes([each]))

    return talk


HEAD = b"HTTP/1.1 200 So\r\nX: " + b"x" * 1000
BODY = answer(200, b'{"messages":[]' + b" " * 1000 + b"}")


@contextmanager
def dripping(data: bytes, at_once: int = 0) -> Iterator[str]:
    done = threading.Event()
    drip = _dripping(data[at_once:], done)

    def talk(wire: socket.socket, request: bytes) -> None:
        wire.sendall(data[:at_once])
        drip(wire, request)

    with talking(talk) as url:
        yield url
        done.set()


VERBS: list[Callable[[Client], Any]] = [
    lambda client: client.get_history(NOBODY),
    lambda client: client.add_message(NOBODY, Message("user", "x")),
    lambda client: client.create(),
    lambda client: client.list(limit=None),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("data", "at_once"), [(HEAD, 0), (BODY, BODY.index(b"{") + 1)])
def test_timeout_covers_whole_call_when_server_drips(
    verb: Callable[[Client], Any], data: bytes, at_once: int
) -> None:
    """The time-out is for the whole call, its head and its body, not for one read."""
    with dripping(data, at_once) as url, Client(url, timeout=0.5) as client:
        begin = time.monotonic()
        with pytest.raises(ServiceError, match=r"did not answer within 0.5 s") as caught:
            verb(client)
        assert time.monotonic() - begin < LONG
    assert caught.value.code == "timeout"


@pytest.mark.parametrize(("data", "at_once"), [(HEAD, 0), (BODY, BODY.index(b"{") + 1)])
@in_loop
async def test_timeout_covers_whole_async_call_when_server_drips(data: bytes, at_once: int) -> None:
    """The same of the client with an event loop."""
    with dripping(data, at_once) as url:
        async with AsyncClient(url, timeout=0.5) as client:
            begin = time.monotonic()
            with pytest.raises(ServiceError, match=r"did not answer within 0.5 s") as caught:
                await client.get_history(NOBODY)
            assert time.monotonic() - begin < LONG
    assert caught.value.code == "timeout"


@in_loop
async def test_timeout_covers_start_of_event_stream() -> None:
    """An answer that does not begin is no stream; one that has begun may be silent for longer."""
    with dripping(HEAD) as url:
        async with AsyncClient(url, timeout=0.5) as client:
            begin = time.monotonic()
            with pytest.raises(ServiceError, match=r"did not answer within 0.5 s"):
                await client.events(NOBODY).start()
            assert time.monotonic() - begin < LONG

        def follow() -> None:
            with Client(url, timeout=0.5) as client:
                next(client.events(NOBODY))

        with pytest.raises(ServiceError, match=r"did not answer within 0.5 s"):
            await asyncio.to_thread(follow)


def test_open_stream_may_be_silent_longer_than_timeout() -> None:
    """The time-out is for its beginning."""
    head = b"HTTP/1.1 200 So\r\nContent-Type: text/event-stream\r\n\r\n"
    said = b'event: message\ndata: {"role":"user","content":"x"}\n\n'

    def talk(wire: socket.socket, _request: bytes) -> None:
        wire.sendall(head)
        if not silent.wait(1.5):
            wire.sendall(said)

    silent = threading.Event()
    with talking(talk) as url, Client(url, timeout=0.5) as client:
        message = next(client.events(NOBODY)).message
        assert message is not None
        assert message.content == "x"


def test_timeout_covers_sending_when_server_reads_nothing() -> None:
    """A message that nobody takes from us does not hold us either."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Client(url, timeout=0.5) as client, pytest.raises(ServiceError) as caught:
            client.add_message(NOBODY, Message("user", "x" * 50_000_000))
        assert caught.value.code == "timeout"


def test_slow_response_within_timeout_succeeds() -> None:
    """The whole answer counts, and it was there."""
    body = answer(200, b'{"messages":[]}')
    with dripping(body, len(body) - 3) as url, Client(url, timeout=30) as client:
        assert client.get_history(NOBODY) == []


class _Later:
    """A server that is started some time after it was called."""

    def __init__(self) -> None:
        self.store = MemoryConversationStore()
        self.id = asyncio.run(self._create())
        first = Background(self._app()).start()
        self.port, self.url = first.port, first.url
        first.stop()
        self._timer = threading.Timer(1.5, self._start)
        self.server: Background | None = None

    async def _create(self) -> str:
        id = await self.store.create()
        await self.store.aclose()
        return id

    def _app(self) -> Any:
        return create_app(self.store, tokens={TOKEN: ""}, close=True)

    def _start(self) -> None:
        self.server = Background(self._app(), self.port).start()

    def __enter__(self) -> "_Later":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.join()
        assert self.server is not None
        self.server.stop()


def test_client_waits_for_server_to_start() -> None:
    """All that never reached it is tried again until the time-out, also a creation."""
    with _Later() as later, Client(later.url, TOKEN, timeout=30) as client:
        message = Message("user", "x")
        client.add_message(later.id, message)
        assert client.get_history(later.id) == [message]
    with _Later() as later, Client(later.url, TOKEN, timeout=30) as client:
        id = client.create()
        assert {each.id for each in client.list()} == {id, later.id}
    with _Later() as later, Client(later.url, TOKEN, timeout=30) as client:
        events = client.events(later.id, after="")
        client.add_message(later.id, message)
        assert next(events).message == message


@in_loop
async def test_async_client_waits_for_server_to_start() -> None:
    """The same of the client with an event loop."""
    later = await asyncio.to_thread(_Later)
    with later:
        async with AsyncClient(later.url, TOKEN, timeout=30) as client:
            message = Message("user", "x")
            await client.add_message(later.id, message)
            assert await client.get_history(later.id) == [message]
            await client.aclose()


def test_client_without_retries_fails_at_once() -> None:
    """Who wants to know at once says so."""
    with talking(saying(answer(503, b"{}"))) as url:
        pass
    with Client(url, retries=0, timeout=600) as client:
        for verb in VERBS:
            with pytest.raises(ServiceError, match="cannot reach"):
                verb(client)


def test_client_obeys_retry_after_within_timeout() -> None:
    """`Retry-After` is obeyed; one that is longer than the time-out is an error at once."""
    busy = b'{"code":"busy","title":"The conversation is busy","status":503}'
    good = answer(200, b'{"messages":[]}')
    with (
        talking(saying(answer(503, busy, "Retry-After: 1"), good)) as url,
        Client(url, timeout=30) as client,
    ):
        begin = time.monotonic()
        assert client.get_history(NOBODY) == []
        assert time.monotonic() - begin >= 1
    with (
        talking(saying(answer(503, busy, "Retry-After: 100"), good)) as url,
        Client(url, timeout=30) as client,
        pytest.raises(ServiceError, match="The conversation is busy") as caught,
    ):
        client.get_history(NOBODY)
    assert (caught.value.code, caught.value.status) == ("busy", 503)
