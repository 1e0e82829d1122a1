"""A conversation of somebody else: by no route, and no answer tells that it is there."""

import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from cortext import open_store
from cortext.asgi import create_app
from cortext.service.stores.base import Conversations
from tests.service.stores.loops import in_loop

TOKENS = {"a" * 20: "anna", "b" * 20: "bob", "e" * 20: ""}
MESSAGE = {"role": "user", "content": "from a stranger"}
ROUTES = [
    ("GET", "/v1/conversations/{id}", None),
    ("DELETE", "/v1/conversations/{id}", None),
    ("GET", "/v1/conversations/{id}/messages", None),
    ("GET", "/v1/conversations/{id}/messages?limit=1", None),
    ("POST", "/v1/conversations/{id}/messages", MESSAGE),
    ("POST", "/v1/conversations/{id}/messages", {**MESSAGE, "id": "known"}),
    ("GET", "/v1/conversations/{id}/summary", None),
    ("GET", "/v1/conversations/{id}/events", None),
]


def _client(app: Any, token: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", headers=headers
    )


async def _anna(app: Any) -> str:
    async with _client(app, "a" * 20) as anna:
        id = (await anna.post("/v1/conversations")).json()["id"]
        body = {"role": "user", "content": "mine", "id": "known"}
        assert (await anna.post(f"/v1/conversations/{id}/messages", json=body)).status_code == 201
    return id


def _store(kind: str, tmp_path: Path) -> Conversations:
    return open_store("memory:" if kind == "memory" else f"file:{tmp_path / 'conversations'}")


@pytest.mark.parametrize(("method", "route", "body"), ROUTES)
@pytest.mark.parametrize("token", ["b" * 20, "e" * 20], ids=["bob", "the machine"])
@pytest.mark.parametrize("kind", ["memory", "file"])
@in_loop
async def test_foreign_conversation_id_answers_like_missing_id(
    kind: str, token: str, method: str, route: str, body: Any, tmp_path: Path
) -> None:
    """The same status and words, but for the id; what is there stays as it is."""
    store = _store(kind, tmp_path)
    app = create_app(store, tokens=TOKENS)
    id, missing = await _anna(app), str(uuid.uuid4())
    async with _client(app, token) as stranger:
        found = [
            await stranger.request(method, route.replace("{id}", each), json=body)
            for each in (id, missing)
        ]
    assert [reply.status_code for reply in found] == [404, 404]
    assert found[0].text.replace(id, "") == found[1].text.replace(missing, "")
    assert [message.content for message in await store.get_history(id)] == ["mine"]
    await store.aclose()


@pytest.mark.parametrize("kind", ["memory", "file"])
@in_loop
async def test_foreign_conversation_is_neither_listed_nor_continued(
    kind: str, tmp_path: Path
) -> None:
    """One that is asked for by its id is a new one, with another id."""
    store = _store(kind, tmp_path)
    app = create_app(store, tokens=TOKENS)
    id = await _anna(app)
    async with _client(app, "b" * 20) as bob:
        assert (await bob.get("/v1/conversations")).json() == {"conversations": []}
        begun = await bob.post("/v1/conversations", json={"conversationId": id})
        assert begun.json()["id"] != id
        assert begun.json()["owner"] == "bob"
    await store.aclose()
