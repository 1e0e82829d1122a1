"""The clients, and what they do when a server does not."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cortext import (
    CortextError,
    InvalidIdError,
    MemoryConversationStore,
    Message,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client, ServiceError
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop

TOKEN = "t" * 20
NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"


@pytest.fixture
def url() -> Iterator[str]:
    with in_background(create_app(MemoryConversationStore(), tokens={TOKEN: ""})) as it:
        yield it


def test_synchronous_client_supports_every_operation(url: str) -> None:
    """A program that knows no event loop has every verb."""
    with Client(url, TOKEN) as client:
        id = client.create(metadata={"a": 1})
        message = Message("assistant", "half \ud800", structured_data={"type": "search"})
        client.add_message(id, message)
        client.add_message(id, message)
        found = client.get(id)
        assert found is not None
        assert (found.messages, found.metadata) == ([message], {"a": 1})
        assert client.get_history(id, 1) == [message]
        assert client.get_or_create(id) == found
        assert client.get_or_create(NOBODY).id != NOBODY
        summary = client.summary(id)
        assert summary is not None
        assert summary.types == ["search"]
        assert [entry.id for entry in client.list()][-1] == id
        following = client.events(id, after=message.id)
        other = Message("user", "more")
        client.add_message(id, other)
        assert next(following).message == other
        client.delete(id)
        assert [event.kind for event in following] == ["deleted"]
        client.delete(id)
        assert (client.get(id), client.get_history(id), client.summary(id)) == (None, [], None)
        with pytest.raises(SessionNotFoundError) as caught:
            client.add_message(id, message)
        assert caught.value.id == id
        with pytest.raises(InvalidIdError):
            client.get("../up")


def test_wrong_token_raises_service_error_with_server_code(url: str) -> None:
    """With the server's code, and nothing that a caller has to parse."""
    with Client(url, "wrong") as client, pytest.raises(ServiceError) as caught:
        client.create()
    assert (caught.value.status, caught.value.code) == (401, "unauthorized")
    assert isinstance(caught.value, SessionStorageError)


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("localhost:8733", "start it with http://"),
        ("ftp://localhost", "such as http://127.0.0.1:8733"),
    ],
)
def test_client_refuses_invalid_address_with_hint(url: str, hint: str) -> None:
    """With what one looks like, and where it comes from."""
    with pytest.raises(CortextError, match="not the address of a server") as caught:
        Client(url)
    assert hint in caught.value.hint
    assert "cortext serve" in caught.value.hint


class Flaky:
    """A server that fails as often as it is told, then does what it should, and counts."""

    def __init__(self, *failures: int) -> None:
        self.failures = list(failures)
        self.asked: list[tuple[str, str]] = []

    def answer(self, method: str, path: str) -> tuple[int, bytes]:
        self.asked.append((method, path))
        if self.failures:
            status = self.failures.pop(0)
            return status, json.dumps({"code": "unavailable", "status": status}).encode()
        return (204, b"") if method == "DELETE" else (200, b'{"messages":[],"id":"own"}')


@contextmanager
def serving(flaky: Flaky) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, body = flaky.answer(self.command, self.path)
            if status == 0:
                self.connection.close()
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _do

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (OSError, ValueError):
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)


@pytest.mark.parametrize("failure", [0, 429, 503])
def test_repeatable_calls_are_retried_up_to_limit(failure: int) -> None:
    """Reading, deleting and adding survive two failures, and no third one."""
    message = Message("user", "x", id="own")
    for verb in (
        lambda client: client.get_history(NOBODY),
        lambda client: client.delete(NOBODY),
        lambda client: client.add_message(NOBODY, message),
    ):
        flaky = Flaky(failure, failure)
        with serving(flaky) as url, Client(url, retries=2) as client:
            verb(client)
        assert len(flaky.asked) == 3
        flaky = Flaky(failure, failure, failure)
        with serving(flaky) as url, Client(url, retries=2) as client, pytest.raises(ServiceError):
            verb(client)
        assert len(flaky.asked) == 3


@pytest.mark.parametrize("failure", [0, 503])
def test_create_is_never_retried_after_failure(failure: int) -> None:
    """The server may have made one: a second would be one too many."""
    flaky = Flaky(failure)
    with serving(flaky) as url, Client(url) as client, pytest.raises(ServiceError):
        client.create()
    assert flaky.asked == [("POST", "/v1/conversations")]


def test_unreachable_server_raises_service_error() -> None:
    with serving(Flaky()) as url:
        pass
    with (
        Client(url, timeout=0.5) as client,
        pytest.raises(ServiceError, match="cannot reach") as caught,
    ):
        client.get(NOBODY)
    assert (caught.value.code, caught.value.status) == ("unreachable", 0)


@in_loop
async def test_silent_server_raises_timeout_error_in_time() -> None:
    """A caller has an answer or an error within the time-out, however often it is tried."""
    import asyncio
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with AsyncClient(url, timeout=0.5, retries=100) as client:
            with pytest.raises(ServiceError, match=r"did not answer within 0.5 s") as caught:
                await asyncio.wait_for(client.get(NOBODY), 20)
        assert caught.value.code == "timeout"
