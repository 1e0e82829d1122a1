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
def test_a_token_may_come_from_a_file(url: str, token: str) -> None:
    """With the end of its line."""
    with Client(url + "/", token) as client:
        assert client.create()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("token", ["two\nlines-secret", "secrét", "a secret", "secret\0", None, 7])
def test_what_cannot_be_a_token_is_said_without_it(kind: Any, token: Any) -> None:
    """In words that can be shown to anybody."""
    with pytest.raises(CortextError, match="token") as caught:
        kind("http://127.0.0.1:1", token)
    assert "secr" not in str(caught.value) + repr(caught.value)
    assert caught.value.hint


def test_a_token_is_in_no_log_and_no_error(caplog: pytest.LogCaptureFixture, url: str) -> None:
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
def test_what_is_no_address_is_said(kind: Any, url: Any) -> None:
    """Without what may be a secret in it."""
    with pytest.raises(CortextError, match="the address of a server") as caught:
        kind(url)
    assert "hidden" not in str(caught.value)
    assert "as in http://127.0.0.1:8733" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["http://h/?token=hidden", "http://me:hidden@h", "http://h/#hidden", "http://hidden@h"]
)
def test_a_secret_in_an_address_is_refused(url: str) -> None:
    """It would be shown wherever the address is; a token has a place of its own."""
    with pytest.raises(CortextError, match="ends with its path") as caught:
        Client(url)
    assert "hidden" not in str(caught.value)
    assert "Client(url, token)" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, "10", None, True])
def test_a_timeout_is_a_number_of_seconds(kind: Any, timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout is"):
        kind("http://127.0.0.1:1", timeout=timeout)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("retries", [-1, 1.5, "2", True])
def test_retries_are_a_whole_number(kind: Any, retries: Any) -> None:
    with pytest.raises(ValueError, match="retries is"):
        kind("http://127.0.0.1:1", retries=retries)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("option", "words"),
    [("window", "cortext serve --window"), ("ttl", "cortext serve --ttl"),
     ("max_conversations", "cortext serve --max-conversations"), ("owner", "the token says who"),
     ("tokn", "no such option")],
)  # fmt: skip
def test_an_option_that_there_is_not_is_said(kind: Any, option: str, words: str) -> None:
    """With the place where it belongs."""
    with pytest.raises(TypeError, match=words) as caught:
        kind("http://127.0.0.1:1", **{option: 5})
    assert repr(option) in str(caught.value)


@pytest.mark.parametrize("owner", [7, b"ann", ["ann"]])
def test_an_owner_is_text(owner: Any) -> None:
    """Anything else is refused before it is sent; half a character cannot stand in an address."""
    client: Any = Client("http://127.0.0.1:1")
    for verb in (client.create, client.list, client.get_or_create):
        with pytest.raises(ValueError, match="owner is text"):
            verb(owner=owner)
    with pytest.raises(ValueError, match="half a character"):
        client.list(owner="\ud800")


def test_a_message_too_large_is_said(url: str) -> None:
    """In the server's words, however much of it was still on its way."""
    with Client(url, TOKEN) as client:
        id = client.create()
        with pytest.raises(ServiceError) as caught:
            client.add_message(id, Message("user", "x" * 20_000_000))
        assert (caught.value.code, caught.value.status) == ("too-large", 413)
        assert client.get_history(id) == []
