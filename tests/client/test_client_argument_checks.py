"""What a client is made with."""

import logging
import math
from collections.abc import Iterator
from typing import Any

import pytest

from cortext import CortextError, MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client, ServiceError
from tests.service.http.background import in_background

TOKEN = "t" * 20
KINDS = [Client, AsyncClient]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with in_background(create_app(MemoryConversationStore(), tokens={TOKEN: ""})) as it:
        yield it


@pytest.mark.parametrize("token", [TOKEN + "\n", f" {TOKEN}\r\n", TOKEN])
def test_client_strips_line_end_from_token(url: str, token: str) -> None:
    """With the end of its line."""
    with Client(url + "/", token) as client:
        assert client.create()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("token", ["two\nlines-secret", "secrét", "a secret", "secret\0", None, 7])
def test_client_refuses_invalid_token_without_showing_secret(kind: Any, token: Any) -> None:
    """In words that can be shown to anybody."""
    with pytest.raises(CortextError, match="token") as caught:
        kind("http://127.0.0.1:1", token)
    assert "secr" not in str(caught.value) + repr(caught.value)
    assert caught.value.hint


def test_token_appears_in_no_log_error_or_repr(caplog: pytest.LogCaptureFixture, url: str) -> None:
    """Also where everything is logged."""
    caplog.set_level(logging.DEBUG, logger="")
    secret = "wrong-secret-of-mine"
    client = Client(url, secret)
    with pytest.raises(ServiceError) as caught:
        client.create()
    with pytest.raises(ServiceError) as events:
        next(client.events("x"))
    client.close()
    told = [repr(client), repr(vars(caught.value)), str(caught.value), str(events.value)]
    assert caplog.text
    assert not [each for each in [*told, caplog.text] if secret in each]
    assert repr(client) == f"Client({url!r})"
    assert repr(AsyncClient(url, secret)) == f"AsyncClient({url!r})"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "url",
    ["", "localhost:8733", "ftp://x", "redis://h/0", "http://", "http:///v1", "http://h:99999",
     "http://h:x", "http://[::1", "http://a b", "file:./x", "127.0.0.1:8733/?token=hidden", None, 7,
     "memory:", "http://user:hidden@", "http://\ud800"],
)  # fmt: skip
def test_client_refuses_invalid_address_without_showing_secret(kind: Any, url: Any) -> None:
    """Without what may be a secret in it."""
    with pytest.raises(CortextError, match="the address of a server") as caught:
        kind(url)
    assert "hidden" not in str(caught.value)
    assert "such as http://127.0.0.1:8733" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["http://h/?token=hidden", "http://me:hidden@h", "http://h/#hidden", "http://hidden@h"]
)
def test_client_refuses_secret_in_address(url: str) -> None:
    """It would be shown wherever the address is; a token has a place of its own."""
    with pytest.raises(CortextError, match="must end with its path") as caught:
        Client(url)
    assert "hidden" not in str(caught.value)
    assert "Client(url, token)" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, "10", None, True])
def test_client_refuses_invalid_timeout(kind: Any, timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout must be"):
        kind("http://127.0.0.1:1", timeout=timeout)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("retries", [-1, 1.5, "2", True])
def test_client_refuses_invalid_retries(kind: Any, retries: Any) -> None:
    with pytest.raises(ValueError, match="retries must be"):
        kind("http://127.0.0.1:1", retries=retries)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("option", "words"),
    [("window", "cortext serve --window"), ("ttl", "cortext serve --ttl"),
     ("max_conversations", "cortext serve --max-conversations"), ("owner", "the token identifies"),
     ("tokn", "does not exist")],
)  # fmt: skip
def test_client_refuses_unknown_option_and_names_its_place(
    kind: Any, option: str, words: str
) -> None:
    """With the place where it belongs."""
    with pytest.raises(TypeError, match=words) as caught:
        kind("http://127.0.0.1:1", **{option: 5})
    assert repr(option) in str(caught.value)


@pytest.mark.parametrize("owner", [7, b"ann", ["ann"]])
def test_client_refuses_owner_that_is_not_text(owner: Any) -> None:
    """Anything else is refused before it is sent; half a character cannot stand in an address."""
    client: Any = Client("http://127.0.0.1:1")
    for verb in (client.create, client.list, client.get_or_create):
        with pytest.raises(ValueError, match="owner must be a string"):
            verb(owner=owner)
    with pytest.raises(ValueError, match="half a character"):
        client.list(owner="\ud800")


def test_oversized_message_raises_too_large_error(url: str) -> None:
    """In the server's words, however much of it was still on its way."""
    with Client(url, TOKEN) as client:
        id = client.create()
        with pytest.raises(ServiceError) as caught:
            client.add_message(id, Message("user", "x" * 20_000_000))
        assert (caught.value.code, caught.value.status) == ("too-large", 413)
        assert client.get_history(id) == []
