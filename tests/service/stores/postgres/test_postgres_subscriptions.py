"""Following the conversations of a real PostgreSQL: one connection, however many follow."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest

from cortext import SessionStorageError, open_store
from tests.service.stores.conformance_base import say
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import PATIENCE, STALL, in_loop, until
from tests.service.stores.proxy import Proxy


async def listeners(url: str) -> int:
    """How many connections of ours listen."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        cursor = await connection.execute(
            "select count(*) from pg_stat_activity"
            " where application_name = 'cortext' and query like 'listen%'"
        )
        row = await cursor.fetchone()
        assert row is not None
        return row[0]


@in_loop
async def test_many_subscriptions_share_one_connection(own_postgres: PostgresServer) -> None:
    """More of them than the server has connections, and each hears; without any there is none."""
    url = own_postgres.url
    async with open_store(url) as store, AsyncExitStack() as stack:
        one, two = await store.create(), await store.create()
        every = [await stack.enter_async_context(store.events()) for _ in range(120)]
        single = [await stack.enter_async_context(store.events(two)) for _ in range(30)]
        assert await listeners(url) == 1
        await store.add_message(one, say("first"))
        await store.add_message(two, say("x" * 20_000))
        for events in every:
            assert [(await anext(events)).id for _ in range(2)] == [one, two]
        for events in single:
            event = await anext(events)
            assert (event.id, event.message and len(event.message.content)) == (two, 20_000)
        await stack.aclose()
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while await listeners(url):
            assert asyncio.get_running_loop().time() < deadline
        async with store.events(one) as events:
            await store.add_message(one, say("again"))
            assert (await anext(events)).message is not None


@in_loop
async def test_new_subscription_receives_no_earlier_events(
    postgres_server: PostgresServer, schema: str
) -> None:
    """Also what was notified a moment ago and is still on its way."""
    url = postgres_server.url
    async with (
        open_store(url, schema=schema) as store,
        open_store(url, schema=schema) as other,
        store.events() as first,
    ):
        ids = [await store.create() for _ in range(2)]
        for number in range(20):
            await other.add_message(ids[0], say(f"before {number}"))
            async with store.events(ids[0]) as late:
                await other.add_message(ids[0], say(f"after {number}"))
                event = await anext(late)
                assert event.message is not None
                assert event.message.content == f"after {number}"
        heard = [await anext(first) for _ in range(42)]
        assert [event.kind for event in heard].count("message") == 40


@in_loop
async def test_subscriptions_recover_after_server_restart(
    own_postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """All of them, on one new connection; that something may be lost is said once."""
    async with open_store(own_postgres.url, timeout=STALL) as store, AsyncExitStack() as stack:
        id = await store.create()
        every = [await stack.enter_async_context(store.events()) for _ in range(10)]
        own_postgres.kill()
        await until(lambda: any("events were lost" in m for m in caplog.messages), "a warning")
        with pytest.raises(SessionStorageError, match="no answer from PostgreSQL"):
            await store.events().start()
        await asyncio.to_thread(own_postgres.start)
        hearing = [asyncio.ensure_future(anext(events)) for events in every]
        while not all(task.done() for task in hearing):
            await store.add_message(id, say("after"))
            await asyncio.wait(hearing, timeout=0.2)
        assert {task.result().kind for task in hearing} == {"message"}
        assert sum("events were lost" in m for m in caplog.messages) == 1
        assert await listeners(own_postgres.url) == 1


@in_loop
async def test_subscription_reports_silent_network_and_recovers(
    postgres_server: PostgresServer, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is closed and nothing heard: that is said, and hearing goes on afterwards."""
    async with Proxy(postgres_server.port) as proxy:
        url = f"postgresql://me@127.0.0.1:{proxy.port}/postgres?sslmode=disable&gssencmode=disable"
        async with open_store(url, schema=schema, timeout=STALL) as store, store.events() as events:
            id = await store.create()
            assert (await anext(events)).id == id
            proxy.quiet = True
            await until(lambda: any("events were lost" in m for m in caplog.messages), "a warning")
            proxy.quiet = False
            hearing = asyncio.ensure_future(anext(events))
            while not hearing.done():
                await asyncio.wait([hearing, asyncio.ensure_future(added(store, id))], timeout=0.2)
            assert (await hearing).kind == "message"


async def added(store: Any, id: str) -> None:
    try:
        await store.add_message(id, say("after"))
    except SessionStorageError:
        return


@in_loop
async def test_closing_store_ends_its_listener_connection(own_postgres: PostgresServer) -> None:
    """Who still follows hears that it ends; opened again it hears again."""
    store = open_store(own_postgres.url)
    await store.create()
    events = store.events()
    await events.start()
    await store.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(events)
    async with asyncio.timeout(PATIENCE):
        # The server takes its time to see that a connection is gone.
        while await listeners(own_postgres.url):
            pass
    async with store.events() as again:
        id = await store.create()
        assert (await anext(again)).id == id
    await events.stop()
    await store.aclose()
