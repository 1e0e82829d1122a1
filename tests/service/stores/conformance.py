"""The contract of conversation stores, executed over each of them.

A store is a subclass: `open` gives one on the place that `place` names, with the options of all
stores; two on one place see the same, unless the store says `shared = False`.
"""

import asyncio
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cortext import (
    Conversation,
    InvalidIdError,
    Message,
    SessionNotFoundError,
)  # fmt: skip
from cortext.clock import now
from tests.service.stores.conformance_base import NOBODY, next_message, say, texts
from tests.service.stores.conformance_events import EventsSuite
from tests.service.stores.conformance_metadata import MetadataSuite
from tests.service.stores.loops import PATIENCE, in_loop, until

HOSTILE = ["", ".", "../up", "a/b", "a b", "a\n", "x" * 129, "é", "{x}", "*", None, 7]


class ConversationStoreSuite(EventsSuite, MetadataSuite):
    """Every sentence of `cortext.service.stores.port`, as tests."""

    @in_loop
    async def test_create_makes_empty_conversation_with_uuid_and_utc_times(
        self, place: Any
    ) -> None:
        """It has a UUID v4, no messages, and both times, in UTC."""
        async with self.opened(place) as store:
            before = now()
            id = await store.create()
            assert str(uuid.UUID(id, version=4)) == id
            found = await store.get(id)
            assert found is not None
            assert (found.id, found.messages, found.metadata, found.owner) == (id, [], {}, "")
            assert found.created_at == found.updated_at
            slack = timedelta(seconds=5)
            assert before - slack <= found.created_at <= now() + slack
            assert found.created_at.tzinfo is UTC

    @in_loop
    async def test_messages_come_back_equal_and_in_order(self, place: Any) -> None:
        """Roles, text of any kind, times and structured data are kept."""
        data = {"type": "search", "items": [{"name": "é", "n": [1, 2.5, None, True]}], "x": {}}
        at = datetime(2025, 11, 22, 12, 30, 0, 123456, timezone(timedelta(hours=2)))
        given = [
            Message("user", "line\nline\u2028\0end"),
            Message("assistant", "**done**", structured_data=data),
            Message("system", "", at),
            Message("tool", "half \ud800", id="own-id"),
            Message("user", "naive", datetime(2025, 1, 1)),
        ]
        async with self.opened(place) as store:
            id = await store.create()
            for message in given:
                await store.add_message(id, message)
            assert await store.get_history(id) == given
            found = await store.get(id)
            assert found is not None
            assert found.messages == given

    @in_loop
    async def test_window_keeps_last_messages_and_limit_narrows_history(self, place: Any) -> None:
        """The oldest leave first; `limit` gives fewer and never more."""
        async with self.opened(place, window=5) as store:
            id = await store.create()
            for number in range(12):
                await store.add_message(id, say(str(number)))
            last = ["7", "8", "9", "10", "11"]
            found = await store.get(id)
            assert found is not None
            assert texts(found.messages) == last
            for limit, expected in [(None, last), (99, last), (2, last[3:]), (1, ["11"]), (0, [])]:
                assert texts(await store.get_history(id, limit)) == expected
            for bad in (-1, 1.5, "2", True):
                with pytest.raises(ValueError, match="limit"):
                    await store.get_history(id, bad)  # pyright: ignore[reportArgumentType]

    @in_loop
    async def test_window_is_twenty_messages_by_default(self, place: Any) -> None:
        """The window is 20 messages unless another is asked for."""
        async with self.opened(place) as store:
            id = await store.create()
            for number in range(23):
                await store.add_message(id, say(str(number)))
            assert texts(await store.get_history(id)) == [str(n) for n in range(3, 23)]

    @in_loop
    async def test_add_message_advances_updated_at_only(self, place: Any) -> None:
        """`updated_at` moves on with a message, `created_at` never, and reading moves nothing."""
        async with self.opened(place) as store:
            id = await store.create()
            new = await store.get(id)
            await store.add_message(id, say("hello"))
            after = await store.get(id)
            await store.get_history(id)
            assert new is not None
            assert after is not None
            assert after.created_at == new.created_at
            assert after.updated_at > new.updated_at
            assert await store.get(id) == after

    @pytest.mark.parametrize("year", [2020, 2099])
    @in_loop
    async def test_updated_at_uses_clock_of_store_not_message_timestamp(
        self, place: Any, year: int
    ) -> None:
        """Not that of the message, which may be old, or wrong."""
        async with self.opened(place) as store:
            id = await store.create()
            new = await store.get(id)
            await store.add_message(id, say("hello", timestamp=datetime(year, 1, 1, tzinfo=UTC)))
            after = await store.get(id)
            assert new is not None
            assert after is not None
            assert after.messages[0].timestamp.year == year
            assert new.updated_at < after.updated_at <= now() + timedelta(seconds=5)
            assert [entry.updated_at for entry in await store.list()] == [after.updated_at]

    @in_loop
    async def test_unknown_id_reads_as_missing_and_add_message_raises(self, place: Any) -> None:
        """Reading and deleting find nothing; adding says so."""
        async with self.opened(place) as store:
            assert await store.get(NOBODY) is None
            assert await store.get_history(NOBODY) == []
            assert await store.summary(NOBODY) is None
            await store.delete(NOBODY)
            with pytest.raises(SessionNotFoundError) as caught:
                await store.add_message(NOBODY, say("hello"))
            assert caught.value.id == NOBODY
            assert "get_or_create" in caught.value.hint
            assert await store.get(NOBODY) is None

    @pytest.mark.parametrize("id", HOSTILE)
    @in_loop
    async def test_every_method_refuses_invalid_id(self, place: Any, id: Any) -> None:
        """On every verb, before anything is touched."""
        async with self.opened(place) as store:
            with pytest.raises(InvalidIdError):
                await store.get(id)
            with pytest.raises(InvalidIdError):
                await store.get_history(id)
            with pytest.raises(InvalidIdError):
                await store.delete(id)
            with pytest.raises(InvalidIdError):
                await store.add_message(id, say("hello"))
            assert await store.list() == []

    @pytest.mark.parametrize("thing", [None, "hello", {"role": "user", "content": "x"}])
    @in_loop
    async def test_add_message_refuses_object_that_is_not_a_message(
        self, place: Any, thing: Any
    ) -> None:
        """Only a Message can be added."""
        async with self.opened(place) as store:
            id = await store.create()
            with pytest.raises(ValueError, match="Message"):
                await store.add_message(id, thing)
            assert await store.get_history(id) == []

    @in_loop
    async def test_add_if_new_stores_repeated_message_once(self, place: Any) -> None:
        """An add that is repeated stores nothing and says so, also when others were added
        meanwhile."""
        async with self.opened(place) as store:
            id = await store.create()
            first = say("first")
            given = (first, first, say("second"), first, say("other", id=first.id))
            added = [await store.add_if_new(id, message) for message in given]
            assert added == [True, False, True, False, False]
            assert texts(await store.get_history(id)) == ["first", "second"]
            other = await store.create()
            await store.add_message(other, first)
            assert texts(await store.get_history(other)) == ["first"]

    @in_loop
    async def test_long_message_is_stored_once_when_repeated(self, place: Any) -> None:
        """Also when it is repeated through another store object, and after long others."""
        async with self.opened(place) as store:
            id = await store.create()
            given = [say(str(number) + "x" * 100_000) for number in range(4)]
            for message in given:
                await store.add_message(id, message)
            if not self.shared:
                return
            async with self.opened(place) as other:
                await other.add_message(id, given[-1])
                await other.add_message(id, given[0])
                assert await other.get_history(id) == given

    @in_loop
    async def test_changing_returned_snapshot_does_not_change_store(self, place: Any) -> None:
        """Changing a snapshot changes nothing in the store, and it does not change itself."""
        async with self.opened(place) as store:
            id = await store.create(metadata={"deep": {"list": [1]}})
            await store.add_message(id, say("one"))
            found, history = await store.get(id), await store.get_history(id)
            assert found is not None
            found.messages.clear()
            found.metadata["deep"]["list"].append(2)
            await store.add_message(id, say("two"))
            assert texts(history) == ["one"]
            history.clear()
            again = await store.get(id)
            assert again is not None
            assert texts(again.messages) == ["one", "two"]
            assert again.metadata == {"deep": {"list": [1]}}

    @in_loop
    async def test_changing_nested_values_does_not_change_store(self, place: Any) -> None:
        """Changing those of a message that was added, given back, summed up or told changes
        nothing in the store."""
        async with self.opened(place) as store:
            id = await store.create()
            message = say("one", structured_data={"items": [1]})
            async with store.events(id) as events:
                await store.add_message(id, message)
                told = (await next_message(events)).message
            assert told is not None
            found, summed = await store.get(id), await store.summary(id)
            assert found is not None
            assert summed is not None
            [listed] = await store.get_history(id)
            for data in (
                message.structured_data, told.structured_data, summed.data,
                found.messages[0].structured_data, listed.structured_data,
            ):  # fmt: skip
                data["items"].append(2)
            assert [m.structured_data for m in await store.get_history(id)] == [{"items": [1]}]

    @in_loop
    async def test_delete_removes_only_given_conversation_and_logs_once(
        self, place: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A deleted conversation is gone, others are not, and the log says which."""
        async with self.opened(place) as store:
            one, two = await store.create(), await store.create()
            await store.add_message(one, say("hello"))
            await store.delete(one)
            await store.delete(one)
            assert await store.get(one) is None
            assert await store.get_history(one) == []
            with pytest.raises(SessionNotFoundError):
                await store.add_message(one, say("again"))
            assert await store.get(two) is not None
        assert caplog.messages.count(f"conversation {one} deleted") == 1

    @in_loop
    async def test_get_or_create_returns_existing_or_creates_under_new_id(
        self, place: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One that is there is given; otherwise a new one, under another id, and that is logged."""
        async with self.opened(place) as store:
            id = await store.create()
            await store.add_message(id, say("hello"))
            assert await store.get_or_create(id) == await store.get(id)
            new = await store.get_or_create(NOBODY)
            assert isinstance(new, Conversation)
            assert (new.id != NOBODY, new.messages) == (True, [])
            assert any(NOBODY in line and new.id in line for line in caplog.messages)
            assert (await store.get_or_create()).messages == []

    @in_loop
    async def test_get_or_create_never_opens_conversation_of_another_owner(
        self, place: Any
    ) -> None:
        """Who knows the id of an owner's conversation gets a new one under another id, whoever they
        are; only who says that any owner will do gets it."""
        async with self.opened(place) as store:
            id, nobodys = await store.create(owner="ann"), await store.create()
            await store.add_message(id, say("secret"))
            assert (await store.get_or_create(id, owner="ann")).id == id
            for owner in ("bob", ""):
                foreign = await store.get_or_create(id, owner=owner)
                assert (foreign.id != id, foreign.messages, foreign.owner) == (True, [], owner)
            assert (await store.get_or_create(id)).id != id
            assert (await store.get_or_create(nobodys, owner="ann")).id != nobodys
            assert texts((await store.get_or_create(id, owner=None)).messages) == ["secret"]
            assert (await store.get_or_create(NOBODY, owner=None)).owner == ""

    @in_loop
    async def test_get_or_create_never_adopts_id_of_caller(self, place: Any) -> None:
        """A new conversation has a UUID of the store's, also when it is asked for again."""
        async with self.opened(place) as store:
            first, second = [await store.get_or_create("my-user-42") for _ in range(2)]
            assert len({first.id, second.id, "my-user-42"}) == 3
            assert str(uuid.UUID(first.id, version=4)) == first.id
            assert await store.get("my-user-42") is None
            assert (await store.get_or_create(first.id)).id == first.id

    @in_loop
    async def test_old_message_in_large_window_is_stored_once_when_repeated(
        self, place: Any
    ) -> None:
        """Also when it is repeated long after, by a store object that has not seen it before."""
        async with self.opened(place, window=300) as store:
            id = await store.create()
            given = [say(str(number)) for number in range(250)]
            for message in given:
                await store.add_message(id, message)
            await store.aclose()
            for again in (store, self.open(place, window=300)) if self.shared else (store,):
                await again.add_message(id, given[0])
                await again.add_message(id, given[120])
                assert texts(await again.get_history(id)) == texts(given)
                await again.aclose()

    @in_loop
    async def test_max_conversations_removes_oldest_with_warning(
        self, place: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Over the limit those that were created first are removed, also busy ones, and each is
        a warning."""
        async with self.opened(place, max_conversations=3) as store:
            ids = []
            for _ in range(5):
                ids.append(await store.create())
                await store.add_message(ids[0] if len(ids) < 4 else ids[-1], say("busy"))
            there = [await store.get(id) is not None for id in ids]
            assert there == [False, False, True, True, True]
            assert len(await store.list()) == 3
        warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
        assert [ids[0] in warnings[0], ids[1] in warnings[1], len(warnings)] == [True, True, 2]

    @in_loop
    async def test_idle_conversations_expire_by_themselves(
        self, place: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Without any call an idle one is removed and logged; a message starts its time anew."""
        async with self.opened(place, ttl=1.0) as store:
            idle, busy = await store.create(), await store.create()
            await store.add_message(idle, say("then nothing"))

            async def keep_busy() -> None:
                while True:
                    await store.add_message(busy, say("still here"))
                    await asyncio.sleep(0.05)

            keeping = asyncio.ensure_future(keep_busy())
            await until(lambda: any(f"{idle} expired" in m for m in caplog.messages), "expiry")
            assert await store.get(idle) is None
            assert await store.get_history(idle) == []
            with pytest.raises(SessionNotFoundError):
                await store.add_message(idle, say("too late"))
            assert await store.get(busy) is not None
            assert not keeping.done()
            keeping.cancel()
            await asyncio.wait([keeping])
            assert [entry.id for entry in await store.list()] == [busy]

    @in_loop
    async def test_repeated_message_does_not_extend_ttl(self, place: Any) -> None:
        """A conversation goes with all its messages, a TTL after the last that was new."""
        async with self.opened(place, ttl=1.0) as store:
            id = await store.create()
            message = say("once")
            await store.add_message(id, message)
            added = asyncio.get_running_loop().time()
            while (found := await store.get(id)) is not None:
                assert texts(found.messages) == ["once"]
                assert asyncio.get_running_loop().time() - added < PATIENCE
                with suppress(SessionNotFoundError):
                    await store.add_message(id, message)
                await asyncio.sleep(0.05)
            assert await store.get_history(id) == []

    @in_loop
    async def test_list_filters_by_owner_and_returns_newest_first(self, place: Any) -> None:
        """Each owner has a list; without an owner it is all."""
        async with self.opened(place) as store:
            ids = [await store.create(owner=owner) for owner in ("ann", "bob", "ann", "")]
            await store.add_message(ids[0], say("hello"))
            assert [entry.id for entry in await store.list()] == ids[::-1]
            assert [entry.id for entry in await store.list(limit=2)] == ids[:1:-1]
            assert len(await store.list(limit=10**20)) == 4
            assert await store.list(limit=0) == []
            for bad in (-1, 1.5, "2", True):
                with pytest.raises(ValueError, match="limit must be a whole number"):
                    await store.list(limit=bad)  # pyright: ignore[reportArgumentType]
            assert [entry.id for entry in await store.list(owner="ann")] == [ids[2], ids[0]]
            assert [entry.owner for entry in await store.list(owner="bob")] == ["bob"]
            assert await store.list(owner="nobody") == []
            assert [entry.id for entry in await store.list(owner="")] == [ids[3]]
            await store.delete(ids[2])
            mine = await store.list(owner="ann")
            found = await store.get(ids[0])
            assert found is not None
            assert [(e.id, e.updated_at) for e in mine] == [(found.id, found.updated_at)]

    @in_loop
    async def test_concurrent_adds_store_each_message_once(self, place: Any) -> None:
        """Calls side by side on one conversation all count, once each."""
        async with self.opened(place, window=100) as store:
            id = await store.create()
            wanted = [say(str(number)) for number in range(40)]
            await asyncio.gather(*(store.add_message(id, m) for m in [*wanted, *wanted]))
            found = await store.get_history(id)
            assert sorted(texts(found)) == sorted(texts(wanted))

    @in_loop
    async def test_camel_case_methods_equal_snake_case_methods(self, place: Any) -> None:
        """`addMessage` and `getHistory` are `add_message` and `get_history`."""
        async with self.opened(place) as store:
            id = await store.create()
            await store.addMessage(id, say("one"))
            await store.addMessage(id, say("two"))
            assert texts(await store.getHistory(id)) == ["one", "two"]
            assert texts(await store.getHistory(id, 1)) == ["two"]

    @in_loop
    async def test_closed_store_can_be_used_again(self, place: Any) -> None:
        """A closed store can be used again, and closed again."""
        store = self.open(place)
        id = await store.create()
        await store.aclose()
        await store.aclose()
        await store.add_message(id, say("hello"))
        assert texts(await store.get_history(id)) == ["hello"]
        await store.aclose()

    def test_store_works_in_second_event_loop(self, place: Any) -> None:
        """A store goes on in a new event loop when its own has ended."""
        store = self.open(place)

        async def begin() -> str:
            id = await store.create()
            await store.aclose()
            return id

        async def go_on(id: str) -> list[str]:
            await store.add_message(id, say("hello"))
            found = texts(await store.get_history(id))
            await store.aclose()
            return found

        id = asyncio.run(begin())
        assert asyncio.run(go_on(id)) == ["hello"]

    @in_loop
    async def test_two_stores_on_one_place_share_conversations(self, place: Any) -> None:
        """What one store object does, another sees."""
        if not self.shared:
            return
        async with self.opened(place) as one, self.opened(place) as two:
            id = await one.create(owner="ann", metadata={"a": 1})
            message = say("hello")
            await two.add_message(id, message)
            await one.add_message(id, message)
            found = await two.get(id)
            assert found == await one.get(id)
            assert found is not None
            assert (found.owner, found.metadata, found.messages) == ("ann", {"a": 1}, [message])
            await two.delete(id)
            assert await one.get(id) is None

    @in_loop
    async def test_none_means_no_limit_for_window_ttl_and_conversations(self, place: Any) -> None:
        """Neither of the messages that are shown, nor of the time, nor of the conversations."""
        bounds = {"window": None, "ttl": None, "max_conversations": None}
        async with self.opened(place, **bounds) as store:
            ids = [await store.create() for _ in range(3)]
            given = [say(str(number)) for number in range(130)]
            for message in given:
                await store.add_message(ids[0], message)
            await store.add_message(ids[0], given[0])
            assert texts(await store.get_history(ids[0])) == texts(given)
            assert texts(await store.get_history(ids[0], 2)) == ["128", "129"]
            found = await store.get(ids[0])
            assert found is not None
            assert len(found.messages) == 130
            assert len(await store.list(limit=None)) == 3

    @pytest.mark.parametrize(
        "options",
        [{"window": 0}, {"window": 2.5}, {"window": True}, {"ttl": 0}, {"ttl": -1}, {"ttl": "1h"},
         {"max_conversations": 0}, {"max_conversations": True},
         {"window": 10**20}, {"max_conversations": 10**20}],
    )  # fmt: skip
    def test_open_refuses_invalid_options(self, place: Any, options: dict[str, Any]) -> None:
        """An option that makes no sense, 0 also, is a ValueError that names it and what would."""
        with pytest.raises(ValueError, match=next(iter(options)) + ".* or None for"):
            self.open(place, **options)
