"""The list and the pages of what a service keeps."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, Message, clock
from cortext.asgi import create_app
from cortext.features.transfer.export import FORMATS
from cortext.features.transfer.import_exported_file import read_export
from tests.service.http.background import in_background
from tests.service.http.serve_command import until
from tests.service.stores.loops import in_loop
from tests.web.page_requests import browsing

TOKEN = "t" * 24
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def served(store: MemoryConversationStore, **more: Any) -> Any:
    return create_app(store, tokens={TOKEN: "anna"}, pages=True, **more)


def titles(text: str) -> list[str]:
    return re.findall(r'class="go"[^>]*>([^<]*)</a>', text)


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second later."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]

    def tick() -> datetime:
        now[0] += timedelta(seconds=1)
        return now[0]

    monkeypatch.setattr(clock, "now", tick)


@pytest.mark.usefixtures("passing")
@in_loop
async def test_list_sorts_by_last_message_and_has_pages() -> None:
    """An old conversation that goes on is the first; a link leads to the older ones."""
    store = MemoryConversationStore()
    ids = [await store.create(owner="anna", metadata={"title": f"No. {n}"}) for n in range(109)]
    await store.add_message(ids[0], Message("user", "once more"))
    async with browsing(served(store)) as client:
        first = (await client.get("/kept", headers=BEARER)).text
        assert titles(first)[:3] == ["No. 0", "No. 108", "No. 107"]
        assert "100 of 109 conversations" in first
        assert 'href="/kept?page=2"' in first
        second = (await client.get("/kept?page=2", headers=BEARER)).text
        assert titles(second) == [f"No. {n}" for n in range(9, 0, -1)]
        assert "9 of 109 conversations" in second
        assert 'rel="prev" href="/kept"' in second
        for odd in ("0", "99999999", "x", "-1"):
            assert (await client.get(f"/kept?page={odd}", headers=BEARER)).status_code == 200


@in_loop
async def test_search_finds_words_in_own_conversations_only() -> None:
    """In one's own conversations: with the message, and with what was looked for in it."""
    store = MemoryConversationStore()
    for owner, text in (("anna", "Where is the <b>bill</b>?"), ("anna", "No"), ("bob", "A bill")):
        id = await store.create(owner=owner)
        await store.add_message(id, Message("user", "Hello"))
        await store.add_message(id, Message("assistant", text))
    async with browsing(served(store)) as client:
        found = (await client.get("/kept?q=BILL", headers=BEARER)).text
        assert found.count('class="found"') == 1
        assert "&lt;b&gt;<mark>bill</mark>" in found
        assert "#m2" in found
        assert "A <mark>" not in found
        for none in ("bill -where", "billing", '"bill where"', "<script>alert(1)</script>", "*"):
            missing = await client.get("/kept", params={"q": none}, headers=BEARER)
            assert missing.status_code == 200
            assert "No results" in missing.text, none
            assert "<script>alert" not in missing.text


@in_loop
async def test_search_says_if_the_store_has_more_conversations_than_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("store_conversation_list", "store_conversation_scan"):
        monkeypatch.setattr(f"cortext.web.store_pages.{module}.MOST", 2)
    store = MemoryConversationStore()
    for number in range(3):
        id = await store.create(owner="anna")
        await store.add_message(id, Message("user", f"bill {number}"))
    async with browsing(served(store)) as client:
        found = (await client.get("/kept?q=bill", headers=BEARER)).text
        assert found.count('class="found"') == 2
        assert "Only the latest 2 conversations were searched." in found


@in_loop
async def test_conversation_page_shows_metadata_as_text() -> None:
    """Its metadata, as text; and no last message where there is none."""
    store = MemoryConversationStore()
    metadata = {"title": "T", "channel": "<i>web</i>", "nested": {"a": [1]}}
    id = await store.create(owner="anna", metadata=metadata)
    async with browsing(served(store)) as client:
        empty = (await client.get(f"/kept/{id}", headers=BEARER)).text
        assert "Last message" not in empty
        assert "&lt;i&gt;web&lt;/i&gt;" in empty
        assert "Metadata" in empty
        await store.add_message(id, Message("user", "hi"))
        assert "Last message" in (await client.get(f"/kept/{id}", headers=BEARER)).text
        plain = await store.create(owner="anna", metadata={"title": "T"})
        assert "Metadata" not in (await client.get(f"/kept/{plain}", headers=BEARER)).text


@in_loop
async def test_export_links_give_importable_files_to_owner_only(tmp_path: Path) -> None:
    """Each link gives a file that `cortext import` reads, to its owner only."""
    store = MemoryConversationStore()
    id = await store.create(owner="anna", metadata={"title": "A bill", "channel": "web"})
    data = {"type": "search", "items": ["a", "b"]}
    for message in (
        Message("user", "Find it"),
        Message("assistant", "*Two*", structured_data=data),
    ):
        await store.add_message(id, message)
    foreign = await store.create(owner="bob")
    async with browsing(served(store)) as client:
        one = (await client.get(f"/kept/{id}", headers=BEARER)).text
        links = re.findall(r'href="([^"]+/export/\w+)" download', one)
        assert [link.rpartition("/")[2] for link in links] == list(FORMATS)
        for link in links:
            got = await client.get(link, headers=BEARER)
            name = f"{id}.{link.rpartition('/')[2]}"
            assert got.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
            (tmp_path / name).write_bytes(got.content)
            read = read_export(str(tmp_path / name)).session
            assert read.title == "A bill"
            assert [each.content for each in read.messages] == ["Find it", "*Two*"]
        for path in (f"/kept/{foreign}/export/json", f"/kept/{id}/export/exe"):
            assert (await client.get(path, headers=BEARER)).status_code in (400, 404)


@pytest.mark.parametrize(
    ("arguments", "role"),
    [({"owner_of": lambda _scope: "anna"}, "You"), ({"tokens": {TOKEN: "anna"}}, "User")],
)
@in_loop
async def test_user_messages_are_labelled_you_only_for_application_users(
    arguments: dict[str, Any], role: str
) -> None:
    """An application's own user spoke; behind a token there is a program with users of its own.
    Neither is told of programs, nor of keys that its pages do not have."""
    store = MemoryConversationStore()
    id = await store.create(owner="anna")
    await store.add_message(id, Message("user", "hi"))
    async with browsing(create_app(store, pages=True, **arguments)) as client:
        one = (await client.get(f"/kept/{id}", headers=BEARER)).text
        listed = (await client.get("/kept", headers=BEARER)).text
    assert re.findall(r'class="role">(\w+)<', one) == [role]
    assert "Your conversations" in listed
    for text in (one, listed):
        assert "over HTTP" not in text
        assert "resume command" not in text
        assert "Beginning and end" not in text
        assert "<kbd>/</kbd>" in text


@in_loop
async def test_list_filters_by_owner_of_client() -> None:
    """Each name in the list is a link to that one's."""
    store = MemoryConversationStore()
    async with browsing(served(store)) as client:
        for owner in ("zoe", "max", "zoe"):
            made = await client.post(
                "/v1/conversations",
                json={"owner": owner, "metadata": {"title": f"Of {owner}"}},
                headers=BEARER,
            )
            assert made.status_code == 201
        listed = (await client.get("/kept", headers=BEARER)).text
        assert sorted(titles(listed)) == ["Of max", "Of zoe", "Of zoe"]
        assert 'href="/kept?owner=zoe"' in listed
        zoes = (await client.get("/kept?owner=zoe", headers=BEARER)).text
        assert titles(zoes) == ["Of zoe", "Of zoe"]
        assert "All owners" in zoes


def test_list_event_stream_counts_towards_stream_limit() -> None:
    """There are no more of them than of others; the place is given back."""
    import httpx

    service = served(MemoryConversationStore(), max_streams=1)
    with in_background(service) as url, httpx.Client(base_url=url, headers=BEARER) as client:
        path = "/kept-list/events"
        with client.stream("GET", path) as first:
            assert first.status_code == 200
            refused = client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (429, "too-many-streams")

        def is_free() -> bool:
            with client.stream("GET", path) as again:
                return again.status_code == 200

        until(is_free, "the place is given back")
