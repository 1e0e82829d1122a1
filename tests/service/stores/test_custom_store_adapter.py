"""Stores with the five methods of the specification and nothing else."""

import asyncio
import logging
from typing import Any

import pytest

from cortext import (
    ConversationStore,
    MemoryConversationStore,
    Message,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.errors import InvalidIdError
from cortext.service.stores import custom_store_adapter
from cortext.service.stores.custom_store_adapter import adapt_store
from cortext.service.stores.port import IdempotentConversationStore
from tests.service.stores.conformance_base import NOBODY, say, texts
from tests.service.stores.loops import in_loop
from tests.service.stores.plain_store import PlainStore

SEARCH = {"type": "search", "query": "React libraries", "items": ["Redux", "Zustand"]}


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_conversation_store_protocol_has_exactly_five_methods() -> None:
    assert members(ConversationStore) == {"create", "get", "add_message", "get_history", "delete"}
    assert members(IdempotentConversationStore) == {"add_if_new"}


def test_adapt_store_returns_own_store_unchanged() -> None:
    store = MemoryConversationStore()
    assert adapt_store(store) is store


@in_loop
async def test_five_method_store_supports_summaries_and_references() -> None:
    plain: ConversationStore = PlainStore()
    async with adapt_store(plain) as store:
        id = await store.create()
        await store.add_message(id, say("search for React libraries"))
        await store.add_message(id, Message("assistant", "Two.", structured_data=SEARCH))
        summary = await store.summary(id)
        assert summary is not None
        assert summary.text == "Previous: searched for React libraries"
        assert (await store.resolve_reference(id, "the second one")).item == "Zustand"


@in_loop
async def test_five_method_store_keeps_repeated_message_once() -> None:
    plain = PlainStore()
    store = adapt_store(plain)
    id, message = await store.create(), say("hello")
    added = await asyncio.gather(*(store.add_if_new(id, message) for _ in range(5)))
    assert sorted(added) == [False, False, False, False, True]
    assert await plain.get_history(id) == [message]


@in_loop
async def test_adapt_store_uses_add_if_new_of_store() -> None:
    class Idempotent(PlainStore):
        async def add_if_new(self, id: str, message: Message) -> bool:
            await self.add_message(id, message)
            return False

    store = adapt_store(Idempotent())
    id = await store.create()
    assert not await store.add_if_new(id, say("told by the store"))
    assert texts(await store.get_history(id)) == ["told by the store"]


@in_loop
async def test_adapt_store_remembers_owners_and_metadata_of_five_method_store() -> None:
    plain = PlainStore()
    store = adapt_store(plain)
    ann = await store.create(owner="ann", metadata={"title": "A", "n": 1})
    bob = await store.create(owner="bob")
    assert [e.id for e in await store.list()] == [bob, ann]
    assert [(e.id, e.metadata) for e in await store.list(owner="ann")] == [
        (ann, {"title": "A", "n": 1})
    ]
    assert [e.id for e in await store.list(limit=1)] == [bob]
    changes: list[dict[str, Any]] = [{"title": "B"}, {"n": None}, {"m": 2}]
    await asyncio.gather(*(store.set_metadata(ann, change) for change in changes))
    found = await store.get(ann)
    assert found is not None
    assert (found.owner, found.metadata) == ("ann", {"title": "B", "m": 2})
    await plain.delete(bob)
    assert [e.id for e in await store.list(limit=1)] == [ann]
    # Another process knows only what the store itself says.
    other = adapt_store(plain)
    seen = await other.get(ann)
    assert seen is not None
    assert (seen.owner, seen.metadata, await other.list()) == ("", {}, [])
    assert await other.set_metadata(ann, {"title": "C"}) == {"title": "C"}


@in_loop
async def test_changing_snapshot_does_not_change_five_method_store() -> None:
    plain = PlainStore()
    store = adapt_store(plain)
    id = await store.create()
    await store.add_message(id, say("kept"))
    found = await store.get(id)
    assert found is not None
    found.messages.clear()
    found.owner = "somebody"
    (await store.get_history(id)).clear()
    assert texts(plain.conversations[id].messages) == ["kept"]
    assert plain.conversations[id].owner == ""


@in_loop
async def test_five_method_store_raises_errors_of_contract() -> None:
    store = adapt_store(PlainStore())
    with pytest.raises(SessionNotFoundError):
        await store.add_message(NOBODY, say("x"))
    with pytest.raises(SessionNotFoundError):
        await store.set_metadata(NOBODY, {})
    assert (await store.get(NOBODY), await store.get_history(NOBODY)) == (None, [])
    await store.delete(NOBODY)
    for call in (store.get("../x"), store.delete("../x"), store.add_message("../x", say("x"))):
        with pytest.raises(InvalidIdError):
            await call
    id = await store.create()
    await store.add_message(id, say("x"))
    assert await store.get_history(id, 0) == []
    with pytest.raises(ValueError, match="limit"):
        await store.get_history(id, -1)


@in_loop
async def test_adapt_store_passes_on_key_error_of_five_method_store() -> None:
    class Broken(PlainStore):
        async def add_message(self, id: str, message: Message) -> None:
            raise KeyError("a bug")

    store = adapt_store(Broken())
    id = await store.create()
    with pytest.raises(KeyError, match="a bug"):
        await store.add_message(id, say("x"))


@in_loop
async def test_events_and_marks_report_changes_in_five_method_store() -> None:
    plain = PlainStore()
    store = adapt_store(plain)
    async with store.events() as events:
        id = await store.create()
        await store.add_message(id, say("x"))
        before = await store.mark(id)
        assert await store.mark(id) == before
        await plain.add_message(id, say("behind our back"))
        assert await store.mark(id) != before
        await store.delete(id)
        await store.delete(id)
        assert [(await anext(events)).kind for _ in range(3)] == ["created", "message", "deleted"]
        await store.aclose()
        assert [event async for event in events] == []


@in_loop
async def test_mark_returns_error_type_when_store_is_unavailable() -> None:
    class Away(PlainStore):
        async def get(self, id: str) -> Any:
            raise SessionStorageError("away")

    assert await adapt_store(Away()).mark(NOBODY) is SessionStorageError
    assert await adapt_store(PlainStore()).mark(NOBODY) is None


@in_loop
async def test_aclose_closes_wrapped_store_that_has_aclose() -> None:
    closed: list[bool] = []

    class Closing(PlainStore):
        async def aclose(self) -> None:
            closed.append(True)

    async with adapt_store(Closing()):
        pass
    assert closed == [True]


@in_loop
async def test_adapt_store_forgets_oldest_owner_above_limit_with_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_store_adapter, "_MAX_REMEMBERED", 2)
    store = adapt_store(PlainStore())
    ids = [await store.create(owner="ann") for _ in range(3)]
    assert [e.id for e in await store.list()] == [ids[2], ids[1]]
    forgotten = await store.get(ids[0])
    assert forgotten is not None
    assert forgotten.owner == ""
    [warning] = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert ids[0] in warning
