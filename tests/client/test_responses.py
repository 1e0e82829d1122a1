"""What is no answer of ours is one clear error, with a hint and without a secret."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from cortext import Message
from cortext.client import AsyncClient, Client, ServiceError
from tests.client.faulty_servers import answer, saying, talking
from tests.service.stores.loops import in_loop

NOBODY = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"
SECRET = "secret-" + "s" * 20
PAGE = b"<html><body>Bad gateway</body></html>"
HTML = "text/html; charset=utf-8"
DEEP = b"[" * 100_000

ODD = {
    "no JSON": (answer(200, b"hello"), "bad-answer", "unexpected answer"),
    "half of JSON": (answer(200, b'{"messages":['), "bad-answer", "unexpected answer"),
    "JSON of another kind": (answer(200, b"[1]"), "bad-answer", "a JSON object was expected"),
    "JSON with another value": (answer(200, b'{"messages":7}'), "bad-answer", "messages"),
    "JSON too deep": (answer(200, DEEP), "bad-answer", "nested too deeply"),
    "an error too deep": (answer(500, DEEP), "unknown", "answered 500"),
    "nothing": (answer(200, b""), "bad-answer", "unexpected answer"),
    "no UTF-8": (answer(200, b'{"messages":"\xff"}'), "bad-answer", "unexpected answer"),
    "a page": (answer(200, PAGE, kind=HTML), "bad-answer", "unexpected answer"),
    "a proxy's page": (answer(502, PAGE, kind=HTML), "unknown", "answered 502 with text/html"),
    "a refusal": (answer(403, PAGE, kind=HTML), "unknown", "answered 403 with text/html"),
    "another 404": (answer(404, PAGE, kind=HTML), "unknown", "answered 404 with text/html"),
    "another JSON": (answer(401, b'{"error":"no"}'), "unknown", "answered 401"),
    "a redirect": (
        answer(307, b"", "Location: https://elsewhere.example/login?token=abc"),
        "redirect",
        "redirects (307) to: https://elsewhere.example/login",
    ),
    "a redirect to nowhere": (answer(301, b""), "redirect", "nowhere"),
    "what is not compressed": (
        answer(200, b"hello", "Content-Encoding: gzip"),
        "bad-answer",
        "it is not valid HTTP",
    ),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "bad-answer", "it is not valid HTTP"),
    "control characters": (
        answer(400, b'{"code":"x","detail":"\\u001b[31mred\\nline"}'),
        "x",
        "red",
    ),
}  # fmt: skip


def _check(error: ServiceError, code: str, words: str) -> None:
    assert error.code == code
    assert words in str(error)
    assert error.hint or code == "x"
    assert str(error).isprintable()
    assert SECRET not in str(error) + repr(error) + error.hint
    assert "token=abc" not in str(error)


VERBS: list[Callable[[Client], Any]] = [
    lambda client: client.get_history(NOBODY),
    lambda client: client.create(),
    lambda client: client.get(NOBODY),
    lambda client: client.summary(NOBODY),
    lambda client: client.list(),
]


@pytest.mark.parametrize("name", ODD)
def test_client_reports_odd_response_without_secret(name: str) -> None:
    """Of the client without an event loop."""
    data, code, words = ODD[name]
    with talking(saying(data)) as url, Client(url, SECRET, timeout=60, retries=1) as client:
        with pytest.raises(ServiceError) as caught:
            VERBS[0](client)
        _check(caught.value, code, words)
        for verb in VERBS[1:]:
            with pytest.raises(ServiceError) as caught:
                verb(client)
            assert caught.value.code == code


@pytest.mark.parametrize("name", ODD)
@in_loop
async def test_async_client_reports_odd_response_without_secret(name: str) -> None:
    """Of the client with one; and of a stream of events."""
    data, code, words = ODD[name]
    with talking(saying(data)) as url:
        async with AsyncClient(url, SECRET, timeout=60, retries=1) as client:
            with pytest.raises(ServiceError) as caught:
                await client.get_history(NOBODY)
            _check(caught.value, code, words)
            with pytest.raises(ServiceError) as caught:
                async with client.events(NOBODY):
                    pass
            assert SECRET not in str(caught.value)


def test_add_and_delete_refuse_unexpected_success_response() -> None:
    """A proxy's page that says 200 is no acknowledgement."""
    with talking(saying(answer(200, PAGE, kind=HTML))) as url, Client(url) as client:
        with pytest.raises(ServiceError) as caught:
            client.add_message(NOBODY, Message("user", "x"))
        assert caught.value.code == "bad-answer"
        with pytest.raises(ServiceError) as caught:
            client.delete(NOBODY)
        assert caught.value.code == "bad-answer"
    with (
        talking(saying(answer(201, b'{"id":"other"}'))) as url,
        Client(url) as client,
        pytest.raises(ServiceError, match="another message"),
    ):
        client.add_message(NOBODY, Message("user", "x"))


def test_interrupted_create_error_warns_of_possible_creation() -> None:
    """The server had it and then broke: only its list can tell."""

    def talk(wire: socket.socket, _request: bytes) -> None:
        wire.sendall(answer(201, b"{}")[:-1])
        wire.shutdown(socket.SHUT_RDWR)

    with talking(talk) as url, Client(url, timeout=60) as client:
        with pytest.raises(ServiceError, match="broke") as caught:
            client.create()
        assert caught.value.hint == "the server may have executed the request anyway"


def test_https_to_plain_http_server_fails_at_once_with_hint() -> None:
    """Which of the two it is can be told from the hint, and at once."""
    with talking(saying(b"HTTP/1.1 400 So\r\n\r\n")) as url:
        address = url.replace("http:", "https:")
        with Client(address, SECRET, timeout=600) as client, pytest.raises(ServiceError) as caught:
            client.get(NOBODY)
    assert caught.value.code == "unreachable"
    assert "http://" in caught.value.hint


def test_unknown_host_name_fails_at_once() -> None:
    """No server that is being started has no name."""
    with (
        Client("http://nobody.invalid", timeout=600) as client,
        pytest.raises(ServiceError, match="cannot reach") as caught,
    ):
        client.get(NOBODY)
    assert caught.value.code == "unreachable"
