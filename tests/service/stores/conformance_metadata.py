"""The contract of conversation stores: what is said of a conversation, and whose it is."""

import asyncio
import uuid
from typing import Any

import pytest

from cortext import InvalidIdError, SessionNotFoundError
from tests.service.stores.conformance_base import NOBODY, StoreSuite, say
from tests.service.stores.loops import in_loop

ODD = {"title": "half \ud800 \0", "empty": [], "none": {"a": None}, "large": 2**53 + 1, "n": 0.1}


class MetadataSuite(StoreSuite):
    @in_loop
    async def test_set_metadata_merges_keys_and_removes_none(self, place: Any) -> None:
        """By keys: others stay, None takes one away, and any JSON comes back as it was."""
        async with self.opened(place) as store:
            id = await store.create(metadata={"channel": "web", "kept": None, "old": 1})
            now = {"channel": "web", "kept": None, **ODD}
            assert await store.set_metadata(id, {**ODD, "old": None}) == now
            found = await store.get(id)
            assert found is not None
            assert found.metadata == now
            assert [entry.metadata for entry in await store.list()] == [now]
            assert await store.set_metadata(id, {"kept": None, "missing": None}) == {
                "channel": "web", **ODD,
            }  # fmt: skip
            assert await store.set_metadata(id, {}) == {"channel": "web", **ODD}

    @in_loop
    async def test_set_metadata_keeps_updated_at_and_messages(self, place: Any) -> None:
        """Neither `updated_at` nor the messages know of it."""
        async with self.opened(place) as store:
            id = await store.create()
            await store.add_message(id, say("hello"))
            before = await store.get(id)
            await store.set_metadata(id, {"title": "x"})
            after = await store.get(id)
            assert before is not None
            assert after is not None
            assert (after.updated_at, after.messages) == (before.updated_at, before.messages)
            await store.add_message(id, say("more"))
            assert len(await store.get_history(id)) == 2

    @in_loop
    async def test_changing_returned_metadata_does_not_change_store(self, place: Any) -> None:
        """What was given, and what comes back, can be changed without harm."""
        async with self.opened(place) as store:
            id = await store.create()
            given = {"deep": [1]}
            told = await store.set_metadata(id, given)
            given["deep"].append(2)
            told["deep"].append(3)
            (await store.list())[0].metadata["deep"].append(4)
            assert (await store.get_or_create(id)).metadata == {"deep": [1]}

    @in_loop
    async def test_set_metadata_refuses_unknown_id_and_invalid_values(self, place: Any) -> None:
        """As a message to it would be."""
        async with self.opened(place) as store:
            with pytest.raises(SessionNotFoundError):
                await store.set_metadata(NOBODY, {"a": 1})
            with pytest.raises(InvalidIdError):
                await store.set_metadata("../up", {"a": 1})
            id = await store.create()
            for bad in (None, 7, "text", [("a", 1)]):
                if bad is not None:
                    with pytest.raises(ValueError, match="metadata must be a mapping"):
                        await store.set_metadata(id, bad)  # pyright: ignore[reportArgumentType]
            with pytest.raises(ValueError, match="metadata"):
                await store.set_metadata(id, {"a": float("nan")})
            assert (await store.get_or_create(id)).metadata == {}

    @in_loop
    async def test_concurrent_set_metadata_keeps_every_key(self, place: Any) -> None:
        """Of several who change other keys, nobody undoes what another did."""
        async with self.opened(place) as store:
            id = await store.create(metadata={"first": 0})
            other = self.open(place) if self.shared else store
            every = [(store, other)[n % 2].set_metadata(id, {f"k{n}": n}) for n in range(30)]
            await asyncio.gather(*every)
            wanted = {"first": 0, **{f"k{n}": n for n in range(30)}}
            assert (await store.get_or_create(id)).metadata == wanted
            await other.aclose()

    @in_loop
    async def test_get_or_create_sets_metadata_of_new_conversation_only(self, place: Any) -> None:
        """One that is there keeps its own."""
        async with self.opened(place) as store:
            new = await store.get_or_create(None, owner="ann", metadata={"title": "pond"})
            assert (new.metadata, new.owner) == ({"title": "pond"}, "ann")
            again = await store.get_or_create(new.id, owner="ann", metadata={"title": "other"})
            assert (again.id, again.metadata) == (new.id, {"title": "pond"})

    @pytest.mark.parametrize("id", ["../x", "x" * 129, "a b", "\ud800\n", "é", "{x}", "x" * 5000])
    @in_loop
    async def test_get_or_create_replaces_malformed_id_and_logs_safely(
        self, place: Any, id: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A client may send anything: it gets a new conversation, and the log stays a log."""
        async with self.opened(place) as store:
            new = await store.get_or_create(id, metadata={"a": 1})
            assert str(uuid.UUID(new.id, version=4)) == new.id
            assert new.metadata == {"a": 1}
        assert all(line.isprintable() and len(line) < 300 for line in caplog.messages)

    @in_loop
    async def test_get_or_create_refuses_id_that_is_not_text(self, place: Any) -> None:
        """That is a mistake of the program, not of its client."""
        async with self.opened(place) as store:
            for bad in (7, b"x"):
                with pytest.raises(InvalidIdError):
                    await store.get_or_create(bad)  # pyright: ignore[reportArgumentType]
            assert await store.list() == []

    @in_loop
    async def test_owner_names_of_any_kind_stay_distinct(self, place: Any) -> None:
        """Paths, spaces, letters of any script: an owner is text, and one is never another."""
        owners = ["ann", "ann/", "/ann", "ann/b", "../ann", "a n", "é", "%2F", "ann%2Fb", "a:b*"]
        async with self.opened(place) as store:
            ids = {owner: await store.create(owner=owner) for owner in owners}
            for owner, id in ids.items():
                found = await store.list(owner=owner)
                assert [(entry.id, entry.owner) for entry in found] == [(id, owner)]
                assert (await store.get_or_create(id, owner=owner)).id == id
            assert len(await store.list()) == len(owners)
