"""What `cortext serve` is started with, and what a request may have beside its path."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortext import MemoryConversationStore, Message, open_store
from cortext.asgi import create_app
from cortext.cli.commands.serve import seconds
from cortext.client import AsyncClient, Client, ServiceError
from cortext.errors import SessionStorageError
from cortext.service.http import event_streams
from tests.command import SCRIPT
from tests.service.http.background import in_background

TOKEN = "t" * 20
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("given", "length"),
    [("0", 0), ("3600", 3600), ("0.5", 0.5), ("90s", 90), ("30m", 1800), ("1h", 3600),
     ("7d", 604800)],
)  # fmt: skip
def test_ttl_option_parses_seconds_and_units(given: str, length: float) -> None:
    assert seconds(None, None, given) == length


@pytest.mark.parametrize("given", ["1w", "h", "", "-1", "1h30m", "nan", "inf", "9999999999", "٣h"])
def test_ttl_option_refuses_invalid_duration(given: str) -> None:
    """With what would be one."""
    done = _serve("--ttl", given)
    assert done.returncode == 2
    assert "30m, 12h, 7d" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["a b/../c", "", "../x", "x" * 129])
def test_new_token_refuses_invalid_client_name(name: str) -> None:
    """Not any text: it becomes that of a file."""
    done = _serve("--new-token", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not a valid name" in done.stderr
    assert "id" not in done.stderr.split("hint:")[0].split()


def _serve(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "serve", *options], capture_output=True, encoding="utf-8", timeout=60,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_unknown_query_parameters_are_refused() -> None:
    """As unknown fields of a body are, with what there is; also where the fast way is."""
    app = create_app(MemoryConversationStore(), tokens={TOKEN: ""})
    with in_background(app) as url, httpx.Client(base_url=url, headers=HEADERS) as client:
        id = client.post("/v1/conversations").json()["id"]
        said = {"role": "user", "content": "x"}
        for answer, words in (
            (client.get("/v1/conversations?offset=2"), "valid names are limit, owner, until"),
            (client.get("/v1/conversations?limt=2"), "did you mean `limit`?"),
            (client.get(f"/v1/conversations/{id}?x"), "none is valid here"),
            (client.get(f"/v1/conversations/{id}/events?last_event_id=1"), "`last_event_id`"),
            (client.post("/v1/conversations?conversationId=x"), "`conversationId`"),
            (client.post(f"/v1/conversations/{id}/messages?a=1", json=said), "`a`"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
            assert words in answer.json()["detail"]
        assert client.get(f"/v1/conversations/{id}/messages?limit=5").json() == {"messages": []}


class Away(MemoryConversationStore):
    """A store whose server does not answer."""

    async def get(self, id: str) -> Any:
        await asyncio.sleep(0.7)
        raise SessionStorageError("no answer from Redis at 10.0.0.1:6379 within 0.7 s")


def test_client_timeout_raises_last_error_of_server() -> None:
    """Where a server said why, and the time was over before it said so again."""
    app = create_app(Away(), tokens={TOKEN: ""})
    id = "5b1c2a3e-7f0d-4f5e-9d3a-2b6c8e1f0a94"

    async def ask(url: str) -> None:
        async with AsyncClient(url, TOKEN, timeout=4) as client:
            await client.get(id)

    with in_background(app) as url, Client(url, TOKEN, timeout=4) as client:
        for work in (
            lambda: client.get(id),
            lambda: asyncio.run(ask(url)),
            lambda: next(iter(client.events(id))),
        ):
            with pytest.raises(ServiceError) as caught:
                work()
            assert (caught.value.code, caught.value.status) == ("unavailable", 503)
            assert "no answer from Redis" in str(caught.value)
            assert "10.0.0.1" not in str(caught.value)


def test_events_over_files_report_writes_of_other_process_before_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream over files checks them every second, long before it reads the conversation again."""
    monkeypatch.setattr(event_streams, "LOOK_EVERY", 60.0)
    place = f"file:{tmp_path / 'kept'}"

    async def write(id: str) -> None:
        async with open_store(place) as other:
            await other.add_message(id, Message("user", "from elsewhere"))

    app = create_app(open_store(place), tokens={TOKEN: ""}, close=True)
    with in_background(app) as url, Client(url, TOKEN) as client:
        id = client.create()
        with httpx.stream("GET", f"{url}/v1/conversations/{id}/events", headers=HEADERS) as stream:
            lines = stream.iter_lines()
            while next(lines) != "event: begin":
                pass
            asyncio.run(write(id))
            heard = []
            while not any("from elsewhere" in line for line in heard):
                heard.append(next(lines))
        assert not any("still here" in line for line in heard), "it was the look of every minute"
