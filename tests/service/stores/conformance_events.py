"""The sentences of `cortext.service.stores.port` about events, as tests."""

import asyncio
from typing import Any

import pytest

from cortext import (
    CortextError,
    InvalidIdError,
)  # fmt: skip
from tests.service.stores.conformance_base import NOBODY, StoreSuite, next_message, say
from tests.service.stores.loops import PATIENCE, in_loop, until


class EventsSuite(StoreSuite):
    """Who follows hears what happens."""

    @in_loop
    async def test_events_report_changes_in_order_from_subscription_on(self, place: Any) -> None:
        """Who follows all conversations or one hears of each in order, from then on."""
        async with self.opened(place) as store:
            one, two = await store.create(), await store.create()
            async with store.events() as every, store.events(two) as single:
                three = await store.create()
                message = say("hello", structured_data={"type": "x"})
                await store.add_message(one, message)
                await store.add_message(one, message)
                await store.add_message(two, message)
                await store.delete(one)
                await store.delete(two)
                heard: list[Any] = []
                while len(heard) < 5:
                    event = await anext(every)
                    if self.ordered or event.kind != "created" or event.id == three:
                        heard.append(event)
                said = [(e.kind, e.id, e.message) for e in heard]
                wanted = [
                    ("created", three, None), ("message", one, message),
                    ("message", two, message), ("deleted", one, None), ("deleted", two, None),
                ]  # fmt: skip
                if not self.ordered:
                    said, wanted = (sorted(each, key=lambda e: e[1]) for each in (said, wanted))
                assert said == wanted
                own = [await next_message(single) for _ in range(2)]
                assert [(e.kind, e.id) for e in own] == [("message", two), ("deleted", two)]

    @in_loop
    async def test_closing_store_ends_subscriptions(self, place: Any) -> None:
        """After what was heard already; and the store can be followed again."""
        store = self.open(place)
        id = await store.create()
        heard: list[str] = []

        async def follow(events: Any) -> None:
            async with events:
                heard.append("begin")
                async for event in events:
                    if event.kind == "message":
                        heard.append(event.message.content)  # noqa: PERF401  as each comes

        for number in ("one", "two"):
            heard.clear()
            following = asyncio.ensure_future(follow(store.events(id)))
            done = following.done
            await until(lambda done=done: heard or done(), "a beginning")
            if done():
                await following  # raises the error of the subscription
            await store.add_message(id, say(number))
            await until(lambda: len(heard) == 2, "a message")
            await store.aclose()
            await asyncio.wait_for(following, PATIENCE)
            assert heard == ["begin", number]

    @in_loop
    async def test_events_refuse_invalid_id_and_deliver_nothing_for_unknown_id(
        self, place: Any
    ) -> None:
        """An id that is unknown is heard nothing of; what could be none is refused; so is to listen
        without having entered."""
        async with self.opened(place) as store:
            id = await store.create()
            async with store.events(NOBODY) as nothing, store.events(id) as events:
                waiting = asyncio.ensure_future(anext(nothing))
                await store.add_message(id, say("hello"))
                assert (await next_message(events)).kind == "message"
                assert not waiting.done()
            with pytest.raises(StopAsyncIteration):
                await waiting
            with pytest.raises(InvalidIdError):
                store.events("../up")
            with pytest.raises(CortextError, match="subscription is not active"):
                await anext(store.events(id))

    @in_loop
    async def test_subscription_reports_expiry_once(self, place: Any) -> None:
        """Who follows hears once that a conversation expired."""
        async with self.opened(place, ttl=0.2) as store, store.events() as events:
            id = await store.create()
            heard = [await anext(events), await anext(events)]
            assert [(e.kind, e.id) for e in heard] == [("created", id), ("expired", id)]
