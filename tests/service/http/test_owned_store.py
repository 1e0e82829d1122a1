"""A client that divides its conversations among owners of its own, and never reaches another's."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cortext import MemoryConversationStore, Message
from cortext.asgi import create_app
from cortext.client import AsyncClient, Client
from tests.service.http.background import in_background
from tests.service.stores.loops import in_loop

NAMES = ["", "a", "b", "ab", "a/b", "a%2Fb", "b/c", "/b"]
TOKENS = {f"{number}" * 20: name for number, name in enumerate(NAMES)}
OF = {name: token for token, name in TOKENS.items()}
HTTP: httpx.Client
TRICKS = ["../b", "b", "b/x", "b/", "/b", "", "..", "../../b", "%2Fb", "./b", "a", "\\..\\b", "b\0"]


@pytest.fixture(scope="module", autouse=True)
def http() -> Iterator[httpx.Client]:
    """One for all requests: to make one takes longer than to ask."""
    global HTTP
    with httpx.Client() as HTTP:
        yield HTTP


@pytest.fixture
def url() -> Iterator[str]:
    with in_background(create_app(MemoryConversationStore(), tokens=TOKENS)) as found:
        yield found


def asked(url: str, name: str, method: str, path: str = "", **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {OF[name]}"}
    return HTTP.request(method, f"{url}/v1/conversations{path}", headers=headers, **more)


@pytest.mark.parametrize("client", ["", "a", "a/b"])
def test_client_cannot_reach_conversations_of_others_by_owner_name(url: str, client: str) -> None:
    """Whatever it calls its owners: each verb finds its own, and 404 for all others."""
    victims = {
        asked(url, name, "POST", json={"owner": owner}).json()["id"]: (name, owner)
        for name in NAMES
        for owner in ("", "b", "x")
    }
    foreign = {id for id, (name, _) in victims.items() if name != client}
    for trick in TRICKS:
        for id in [*foreign][:6]:
            body = {"conversationId": id, "owner": trick}
            made = asked(url, client, "POST", json=body)
            assert (made.status_code, made.json()["id"] == id) == (201, False)
        body = {"conversationId": next(iter(foreign)), "owner": None}
        assert asked(url, client, "POST", json=body).status_code == 201
        listed = asked(url, client, "GET", params={"owner": trick, "limit": 1000}).json()
        assert not foreign & {each["id"] for each in listed["conversations"]}
    everything = asked(url, client, "GET", params={"limit": 1000}).json()["conversations"]
    assert not foreign & {each["id"] for each in everything}
    assert {id for id in victims if id not in foreign} <= {each["id"] for each in everything}
    message = {"role": "user", "content": "x"}
    for id, (name, _) in victims.items():
        expected = 404 if name != client else 200
        for path in ("", "/messages", "/summary"):
            assert asked(url, client, "GET", f"/{id}{path}").status_code == expected
        for method, path, more in (
            ("POST", "/messages", {"json": message}), ("PATCH", "", {"json": {"metadata": {}}}),
            ("GET", "/events", {}), ("DELETE", "", {}),
        ):  # fmt: skip
            if name != client:
                assert asked(url, client, method, f"/{id}{path}", **more).status_code == 404
    for id, (name, _) in victims.items():
        assert asked(url, name, "GET", f"/{id}").json()["messages"] == []


def test_owners_round_trip_in_answers_and_filter_lists(url: str) -> None:
    """In answers and in lists; each list is of one owner, or of all of them."""
    owners = ["anna", "", "a/b", "../x", "anna", "é\u2028"]
    ids = [asked(url, "b", "POST", json={"owner": each}).json()["id"] for each in owners]
    shown = [each or "b" for each in owners]
    for id, owner in zip(ids, shown, strict=True):
        assert asked(url, "b", "GET", f"/{id}").json()["owner"] == owner
    rows = asked(url, "b", "GET").json()["conversations"]
    assert [(row["id"], row["owner"]) for row in rows] == [*zip(ids, shown, strict=True)][::-1]
    for owner in {*owners}:
        rows = asked(url, "b", "GET", params={"owner": owner}).json()["conversations"]
        assert {row["id"] for row in rows} == {
            id for id, each in zip(ids, owners, strict=True) if each == owner
        }


@in_loop
async def test_store_prefixes_owner_with_name_of_client() -> None:
    """So that who opens the store itself sees whose they are."""
    store = MemoryConversationStore()
    transport = httpx.ASGITransport(create_app(store, tokens=TOKENS))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for name, owner in (("b", "anna"), ("", "anna"), ("b", ""), ("a/b", "anna")):
            headers = {"Authorization": f"Bearer {OF[name]}"}
            await client.post("/v1/conversations", headers=headers, json={"owner": owner})
    there = [entry.owner for entry in await store.list()]
    assert there == ["a%2Fb/anna", "b", "/anna", "b/anna"]


@pytest.mark.parametrize("body", [{"owner": 7}, {"owner": ["x"]}, {"owner": "x" * 257}])
def test_create_refuses_invalid_owner(url: str, body: Any) -> None:
    assert asked(url, "b", "POST", json=body).status_code == 400


@in_loop
async def test_coordinator_example_behaves_alike_on_store_and_server(url: str) -> None:
    """The one of the docs: each user has conversations of their own, and an id proves nothing."""

    async def answer(store: Any, user: str, id: str | None, text: str) -> str:
        conversation = await store.get_or_create(id, owner=user)
        await store.add_message(conversation.id, Message("user", text))
        assert conversation.owner == user
        return conversation.id

    for store in (MemoryConversationStore(), AsyncClient(url, OF[""]), AsyncClient(url, OF["b"])):
        async with store:
            id = await answer(store, "ann", None, "find React libraries")
            assert await answer(store, "ann", id, "and now?") == id
            assert await answer(store, "bob", id, "what did Ann say?") != id
            assert await answer(store, "ann", "../x", "hello") != id
            assert len(await store.list(owner="ann")) == 2
            assert len(await store.list()) == 3


def test_synchronous_client_supports_owners(url: str) -> None:
    with Client(url, OF["b"]) as client:
        id = client.create(owner="anna", metadata={"title": "x"})
        assert client.get_or_create(id, owner="anna").id == id
        assert client.get_or_create(id, owner=None).id == id
        assert client.get_or_create(id).id != id
        assert [entry.metadata for entry in client.list(owner="anna")] == [{"title": "x"}]
        assert client.set_metadata(id, {"title": None, "a": 1}) == {"a": 1}
        assert [entry.owner for entry in client.list()] == ["b", "anna"]
