"""A page of what is kept is told that it looks different now."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cortext import MemoryConversationStore, Message, SessionStorageError
from cortext.service.http.owned_store import OwnedStore
from cortext.web.live_updates import ShutdownFlag
from cortext.web.store_pages import store_updates
from cortext.web.store_pages.store_conversation_list import StoreListRequest, see
from cortext.web.store_pages.store_router import version_of
from tests.service.stores.loops import in_loop

PATIENCE = 60.0


class Page:
    """One that follows a conversation, or with no id the list."""

    def __init__(self, store: Any, id: str | None, *, seen: str = "") -> None:
        self.ending, self.stays, self.owned = ShutdownFlag(), True, OwnedStore(store)
        look = (lambda: self._one(id)) if id else self._all
        events = store.events(id)
        self._told = store_updates.tell(look, events, seen, self.ending, lambda: self.stays)

    async def _one(self, id: str) -> str:
        found = await self.owned.store.get(id)
        return version_of(found) if found else ""

    async def _all(self) -> str:
        return (await see(StoreListRequest(self.owned, "anna"), titles=False)).version

    async def next(self) -> str:
        """The next event; "" is the end."""
        found = await asyncio.wait_for(anext(self._told, {"event": ""}), PATIENCE)
        return found["event"]

    async def leave(self) -> None:
        await self._told.aclose()


@in_loop
async def test_page_is_told_of_message_and_deletion_once() -> None:
    """Each once, and how it ended where the store says so."""
    store = MemoryConversationStore()
    id = await store.create(owner="anna")
    page = Page(store, id)
    assert await page.next() == "grown"
    await store.add_message(id, Message("user", "hi"))
    assert await page.next() == "grown"
    await store.delete(id)
    assert [await page.next(), await page.next()] == ["deleted", ""]


@in_loop
async def test_list_is_told_only_of_own_conversations() -> None:
    """What others do in the same store changes nothing in it."""
    store = MemoryConversationStore()
    page = Page(store, None)
    assert await page.next() == "grown"
    waiting = asyncio.ensure_future(page.next())
    await store.create(owner="bob")
    done, _ = await asyncio.wait([waiting], timeout=2.5)
    assert not done
    await store.create(owner="anna")
    assert await waiting == "grown"
    await page.leave()


@in_loop
async def test_page_is_told_of_changes_by_another_process(tmp_path: Path) -> None:
    """A store that is files tells only of this one."""
    from cortext import open_store

    mine, other = (open_store(f"file:{tmp_path}") for _ in range(2))
    id = await mine.create(owner="anna")
    page = Page(mine, id)
    assert await page.next() == "grown"
    await other.add_message(id, Message("user", "hi"))
    assert await page.next() == "grown"
    await other.delete(id)
    assert await page.next() == "gone"
    await mine.aclose()
    await other.aclose()


@in_loop
async def test_updates_end_when_access_or_server_ends() -> None:
    """Nor anybody when the server ends."""
    store = MemoryConversationStore()
    id = await store.create(owner="anna")
    for leave in (lambda page: setattr(page, "stays", False), _end):
        page = Page(store, id)
        assert await page.next() == "grown"
        leave(page)
        assert await page.next() == ""


def _end(page: Page) -> None:
    page.ending.is_near = True


@in_loop
async def test_updates_wait_for_unavailable_store_and_continue(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The page stays as it is, and goes on when the store does."""
    monkeypatch.setattr(store_updates, "LOOK", 0.05)

    class Faltering(MemoryConversationStore):
        down = False

        async def get(self, id: str) -> Any:
            if self.down:
                raise SessionStorageError("no answer")
            return await super().get(id)

    store = Faltering()
    id = await store.create(owner="anna")
    page = Page(store, id)
    assert await page.next() == "grown"
    store.down = True
    waiting = asyncio.ensure_future(page.next())
    await store.add_message(id, Message("user", "hi"))
    end = asyncio.get_running_loop().time() + PATIENCE
    while "a page waits for its store" not in caplog.text:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.01)
    assert not waiting.done()
    store.down = False
    assert await waiting == "grown"
    await page.leave()
