"""Following the conversations of a real Redis: one connection, however many follow."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from cortext import (
    RedisConversationStore,
    SessionNotFoundError,
    SessionStorageError,
    open_store,
)
from cortext.service.stores.redis.redis_client import ReplicationError
from tests.service.stores.clusters import Guarded, RedisCluster, asked
from tests.service.stores.conformance_base import next_message, say
from tests.service.stores.loops import PATIENCE, STALL, in_loop, until
from tests.service.stores.proxy import Proxy
from tests.service.stores.redis.redis_listeners import listeners
from tests.service.stores.servers import RedisServer

Start = Callable[..., RedisServer]


async def fifty_hear(store: Any, *ports: int) -> None:
    """Fifty who follow one conversation each, and two who follow all, on one connection."""
    async with AsyncExitStack() as stack:
        ids = [await store.create() for _ in range(50)]
        single = [await stack.enter_async_context(store.events(id)) for id in ids]
        every = [await stack.enter_async_context(store.events()) for _ in range(2)]
        assert len(await asyncio.to_thread(listeners, *ports)) == 1
        for id in ids:
            await store.add_message(id, say(id))
        for id, events in zip(ids, single, strict=True):
            message = await next_message(events)
            assert (message.id, message.message and message.message.content) == (id, id)
        for events in every:
            assert {(await next_message(events)).id for _ in ids} == {*ids}
    await until(lambda: not listeners(*ports), "that nobody listens")
    async with store.events(ids[0]) as events:
        await store.add_message(ids[0], say("again"))
        assert (await anext(events)).message is not None


@in_loop
async def test_many_subscriptions_share_one_connection(start_redis: Start) -> None:
    """Each hears its own, and nothing twice; without any there is none."""
    server = start_redis()
    async with open_store(server.url) as store:
        await fifty_hear(store, server.port)


@in_loop
async def test_cluster_subscriptions_share_one_connection(
    redis_cluster: RedisCluster, key_prefix: str
) -> None:
    """One connection to one of its nodes."""
    async with open_store(redis_cluster.url, prefix=key_prefix) as store:
        await fifty_hear(store, *redis_cluster.nodes)


@in_loop
async def test_sentinel_subscriptions_share_connection_and_survive_failover(
    guarded: Guarded,
) -> None:
    """One connection to the master; when that dies all hear what happens at the next."""
    async with open_store(guarded.url, timeout=STALL) as store:
        await fifty_hear(store, guarded.master.port)
        id = await create_on_replica(guarded.url)
        async with store.events(id) as one, store.events() as every:
            guarded.kill_master()
            hearing = [asyncio.ensure_future(anext(events)) for events in (one, every)]
            await until_heard(store, id, hearing)


async def create_on_replica(url: str) -> str:
    """Create a conversation that a replica has, also if the replica is slow to catch up."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    async with open_store(url, wait_replicas=1) as store:
        while True:
            try:
                return await store.create()
            except ReplicationError:
                assert asyncio.get_running_loop().time() < deadline, "no replica caught up"
                await asyncio.sleep(0.1)


async def until_heard(store: Any, id: str, hearing: Sequence[asyncio.Future[Any]]) -> None:
    """Add, also while the server is away, until all have heard of it."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not all(task.done() for task in hearing):
        assert asyncio.get_running_loop().time() < deadline, "not heard again"
        try:
            await store.add_message(id, say("after"))
        except SessionNotFoundError:
            raise
        except SessionStorageError:
            continue
        await asyncio.wait(hearing, timeout=0.2)
    assert {(await task).id for task in hearing} == {id}


@in_loop
async def test_new_subscription_receives_no_earlier_events(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """Also what was published a moment ago and is still on its way."""
    options: dict[str, Any] = {"prefix": key_prefix, "window": 100}
    async with (
        RedisConversationStore(redis_server.url, **options) as store,
        RedisConversationStore(redis_server.url, **options) as other,
    ):
        id = await store.create()
        async with store.events() as every, store.events(id) as first:
            for number in range(20):
                await other.add_message(id, say(f"before {number}"))
                async with store.events(id) as late:
                    await other.add_message(id, say(f"after {number}"))
                    event = await anext(late)
                    assert event.message is not None
                    assert event.message.content == f"after {number}"
            for events in (every, first):
                heard = [await anext(events) for _ in range(40)]
                wanted = [f"{when} {n}" for n in range(20) for when in ("before", "after")]
                assert [e.message and e.message.content for e in heard] == wanted


@in_loop
async def test_server_channels_close_after_last_subscription_ends(start_redis: Start) -> None:
    """The server is told when the last who follows a conversation has left."""
    server = start_redis()
    async with open_store(server.url) as store:
        one, two = await store.create(), await store.create()
        async with store.events(one), store.events(two):
            async with store.events(two):
                assert asked(server.port, "PUBSUB", "CHANNELS").split() != []
            assert len(asked(server.port, "PUBSUB", "CHANNELS").split()) == 2
            async with store.events():
                assert asked(server.port, "PUBSUB", "NUMPAT").strip() == "1"
            await until(lambda: asked(server.port, "PUBSUB", "NUMPAT").strip() == "0", "no pattern")
        await until(lambda: asked(server.port, "PUBSUB", "CHANNELS").split() == [], "no channel")


@in_loop
async def test_subscriptions_report_silent_network_once_and_recover(
    redis_server: RedisServer, key_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is closed and nothing heard: that is said once, and all hear again afterwards."""
    async with (
        Proxy(redis_server.port) as proxy,
        RedisConversationStore(proxy.url, prefix=key_prefix, timeout=STALL) as store,
        AsyncExitStack() as stack,
    ):
        id = await store.create()
        every = [await stack.enter_async_context(store.events(id)) for _ in range(5)]
        proxy.quiet = True
        await until(lambda: any("events were lost" in m for m in caplog.messages), "a warning")
        with pytest.raises(SessionStorageError, match="no answer from Redis"):
            await store.events().start()
        proxy.quiet = False
        hearing = [asyncio.ensure_future(anext(events)) for events in every]
        await until_heard(store, id, hearing)
        assert sum("events were lost" in m for m in caplog.messages) == 1


@in_loop
async def test_subscribing_without_channel_permission_fails_with_hint(start_redis: Start) -> None:
    """At once and by its name, not by silence."""
    server = start_redis()
    asked(server.port, "ACL", "SETUSER", "deaf", "on", "nopass", "~*", "+@all", "resetchannels")
    url = server.url.replace("//", "//deaf:any@")
    async with open_store(url, timeout=PATIENCE) as store:
        with pytest.raises(SessionStorageError, match="does not allow this user to do") as caught:
            await store.events().start()
        assert "PREFIX:events:" in caught.value.hint


@in_loop
async def test_cluster_subscription_moves_to_another_node_when_node_hangs(
    own_cluster: RedisCluster,
) -> None:
    """Another node is heard instead, before anybody takes its place."""
    async with open_store(own_cluster.url, timeout=STALL) as store, store.events() as events:
        [port] = listeners(*own_cluster.nodes)
        still = own_cluster.nodes[port]
        while True:
            id = await store.create()
            assert (await anext(events)).id == id
            if own_cluster.master_of(f"conv:{{{id}}}") is not still:
                break
        still.pause()
        try:
            await until_heard(store, id, [asyncio.ensure_future(anext(events))])
        finally:
            still.go_on()
