"""Conversations on a Redis Cluster and behind a sentinel, when servers die."""

import asyncio
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio

from cortext import Message, RedisConversationStore, SessionStorageError, open_store
from cortext.service.stores.redis.redis_client import ReplicationError
from tests.service.stores.clusters import Guarded, RedisCluster, wait_replicated
from tests.service.stores.conformance_base import say, texts
from tests.service.stores.loops import PATIENCE, STALL, in_loop
from tests.service.stores.redis.redis_listeners import listeners
from tests.service.stores.servers import RedisServer, free_port

pytestmark = pytest.mark.long


async def added(store: Any, id: str, message: Message, deadline: float) -> None:
    """Add it, again after each refusal, until the cluster has found its new master."""
    while True:
        try:
            return await store.add_message(id, message)
        except SessionStorageError:
            if time.monotonic() > deadline:
                raise


async def adding(store: Any, id: str, sure: list[str], calm: asyncio.Event) -> None:
    """Messages one after the other; what fails is repeated, as callers do, and `sure` are those
    that were acknowledged, in their order."""
    number = 0
    while not calm.is_set() or number < 20:
        message = say(str(number))
        await added(store, id, message, time.monotonic() + PATIENCE)
        sure.append(message.content)
        number += 1
        await asyncio.sleep(0.01)


async def begun(store: Any) -> str:
    """A conversation that a replica has. One that was just started is slow with its first word."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await store.create()
        except ReplicationError:
            assert time.monotonic() < deadline, "no replica"


async def until_went_on(sure: list[str], more: int) -> None:
    deadline, wanted = time.monotonic() + PATIENCE, len(sure) + more
    while len(sure) < wanted:
        assert time.monotonic() < deadline, "it did not go on"
        await asyncio.sleep(0.01)


@in_loop
async def test_cluster_spreads_conversations_over_all_masters(redis_cluster: RedisCluster) -> None:
    """Their keys are spread by their ids, and a client that was given does as well as a URL."""
    given = redis.asyncio.RedisCluster(port=next(iter(redis_cluster.nodes)), host="127.0.0.1")
    async with RedisConversationStore(given, prefix="spread") as store:
        ids = [await store.create() for _ in range(30)]
        masters = {redis_cluster.master_of(f"spread:{{{id}}}").port for id in ids}
        assert len(masters) == 3
        assert {entry.id for entry in await store.list()} == set(ids)
    assert await given.ping()
    await given.aclose()


@in_loop
async def test_cluster_store_keeps_messages_when_master_is_killed(
    own_cluster: RedisCluster,
) -> None:
    """Its replica takes over: nothing that a replica had is lost or there twice, other slots go
    on, and no store is opened anew."""
    async with RedisConversationStore(
        own_cluster.url, window=10_000, ttl=None, timeout=STALL, wait_replicas=1
    ) as store:
        id, calm = await begun(store), asyncio.Event()
        elsewhere = await away_from(own_cluster, store, id)
        sure: list[str] = []
        task = asyncio.ensure_future(adding(store, id, sure, calm))
        await until_went_on(sure, 10)
        dead = own_cluster.master_of(f"conv:{{{id}}}")
        dead.kill()
        own_cluster.allow_failover(away=dead)
        assert await store.get(elsewhere) is not None
        # There is no replica left behind the new master: that is said, and the message is stored.
        deadline = time.monotonic() + PATIENCE
        while own_cluster.master_of(f"conv:{{{id}}}") is dead:
            assert time.monotonic() < deadline, "no failover"
            await asyncio.sleep(0.05)
        before = await store.get_history(id)
        assert texts(before)[: len(sure)] == sure
        await asyncio.to_thread(dead.start)
        await until_went_on(sure, 10)
        calm.set()
        await task
        assert texts(await store.get_history(id)) == sure == [str(n) for n in range(len(sure))]


async def away_from(cluster: RedisCluster, store: RedisConversationStore, id: str) -> str:
    """A conversation on another master."""
    while True:
        other = await begun(store)
        if cluster.master_of(f"conv:{{{other}}}") is not cluster.master_of(f"conv:{{{id}}}"):
            return other


@in_loop
async def test_cluster_store_and_events_recover_when_master_hangs(
    own_cluster: RedisCluster,
) -> None:
    """A node that accepts connections and never answers is left for its successor, and events
    are heard again."""
    async with (
        RedisConversationStore(own_cluster.url, window=1000, timeout=STALL) as store,
        store.events() as events,
    ):
        [port] = listeners(*own_cluster.nodes)
        still = own_cluster.nodes[port]
        while True:
            id = await store.create()
            assert (await anext(events)).id == id
            if own_cluster.master_of(f"conv:{{{id}}}") is still:
                break
        message = say("once")
        await asyncio.to_thread(wait_replicated, still.port)
        still.pause()
        own_cluster.allow_failover(away=still)
        deadline = time.monotonic() + 1.5 * PATIENCE
        await added(store, id, message, deadline)
        hearing = asyncio.ensure_future(anext(events))
        while not hearing.done():
            assert time.monotonic() < deadline, "events are not heard again"
            await added(store, id, say("again"), deadline)
            await asyncio.wait([hearing], timeout=0.2)
        still.go_on()
        assert texts(await store.get_history(id)).count("once") == 1


@in_loop
async def test_create_raises_replication_error_when_cluster_lacks_replicas(
    redis_cluster: RedisCluster,
) -> None:
    """More replicas than there are: the message is stored, and the error says how many have it."""
    async with RedisConversationStore(
        redis_cluster.url, prefix="short", timeout=STALL, wait_replicas=2
    ) as store:
        with pytest.raises(ReplicationError) as caught:
            await store.create()
        assert (caught.value.have, caught.value.wanted) == (1, 2)


@in_loop
async def test_adds_continue_while_cluster_slot_moves(own_cluster: RedisCluster) -> None:
    """A slot that is handed to another master while messages are added loses none of them."""
    async with RedisConversationStore(own_cluster.url, window=10_000, ttl=None) as store:
        id, calm = await store.create(), asyncio.Event()
        sure: list[str] = []
        task = asyncio.ensure_future(adding(store, id, sure, calm))
        await until_went_on(sure, 5)
        key = f"conv:{{{id}}}"
        source = own_cluster.master_of(key)
        target = own_cluster.master_of(f"conv:{{{await away_from(own_cluster, store, id)}}}")
        await asyncio.to_thread(hand_over, source, target, key)
        await until_went_on(sure, 5)
        calm.set()
        await task
        assert own_cluster.master_of(key) is target
        assert texts(await store.get_history(id)) == sure


def hand_over(source: RedisServer, target: RedisServer, key: str) -> None:
    """One slot with its keys, step by step, as `redis-cli --cluster reshard` does it."""

    def said(server: RedisServer, *words: str) -> str:
        command = ["redis-cli", "-p", str(server.port), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    slot = said(source, "CLUSTER", "KEYSLOT", key)
    names = [said(server, "CLUSTER", "MYID") for server in (source, target)]
    said(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    said(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    keys = said(source, "CLUSTER", "GETKEYSINSLOT", slot, "100").split()
    moved = said(source, "MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", *keys)
    assert moved == "OK"
    time.sleep(0.1)
    for server in (target, source):
        said(server, "CLUSTER", "SETSLOT", slot, "NODE", names[1])


@in_loop
async def test_sentinel_store_keeps_messages_when_master_is_killed(guarded: Guarded) -> None:
    """The sentinel names another; nothing that a replica had is lost or there twice. A sentinel
    that is not there is passed over."""
    async with open_store(
        guarded.url, window=10_000, ttl=None, timeout=STALL, wait_replicas=1
    ) as store:
        id = await begun(store)
        sure = [say(str(number)) for number in range(20)]
        for message in sure:
            await added(store, id, message, time.monotonic() + PATIENCE)
        guarded.kill_master()
        deadline, last = time.monotonic() + PATIENCE, say("after")
        while True:
            try:
                await store.add_message(id, last)
            except ReplicationError:
                break
            except SessionStorageError:
                assert time.monotonic() < deadline, "no failover"
        with pytest.raises(ReplicationError):
            await store.add_message(id, last)
        assert texts(await store.get_history(id)) == [*texts(sure), "after"]


@in_loop
async def test_cluster_url_of_single_server_is_refused_at_once(redis_server: RedisServer) -> None:
    """It is not tried again until the time-out."""
    url = f"redis+cluster://127.0.0.1:{redis_server.port}"
    async with open_store(url, timeout=60.0) as store:
        with pytest.raises(SessionStorageError, match="refused: Cluster mode is not enabled"):
            await store.create()


@in_loop
async def test_rediss_url_uses_tls_and_refuses_untrusted_certificate(
    start_redis: Any, certified: tuple[Path, Path]
) -> None:
    """`rediss://` speaks TLS, and a certificate that nobody vouches for is refused."""
    key, certificate = certified
    server: RedisServer = start_redis(
        "--tls-port", str(port := free_port()), "--tls-cert-file", str(certificate),
        "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate),
        "--tls-auth-clients", "no",
    )  # fmt: skip
    url = f"rediss://127.0.0.1:{port}/0"
    async with open_store(f"{url}?ssl_ca_certs={certificate}") as store:
        id = await store.create()
        await store.add_message(id, say("hello"))
        assert texts(await store.get_history(id)) == ["hello"]
    async with open_store(server.url) as plain:
        assert texts(await plain.get_history(id)) == ["hello"]
    async with open_store(url, timeout=STALL) as store:
        with pytest.raises(SessionStorageError, match="certificate that is not trusted"):
            await store.create()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis+cluster://h:1/3", "only database 0"),
        ("redis+sentinel://h:1", "name of a service"),
        ("redis+sentinel://h:1/s/x", "number"),
        ("redis+cluster://h:1,", "host in the URL is empty"),
        ("redis+nothing://h:1", "redis+cluster: or redis+sentinel:"),
    ],
)
def test_store_refuses_invalid_cluster_or_sentinel_url(url: str, said: str) -> None:
    """At once, not at the first call."""
    with pytest.raises(ValueError, match=said.replace("+", r"\+")):
        RedisConversationStore(url)


def test_parsed_sentinel_url_hides_password_in_shown_address() -> None:
    """Where a fleet is can be said without them."""
    from cortext.service.stores.redis.redis_address import parse

    place = parse(redis, "rediss+sentinel://me:secret@a,b:7/main/2?ssl_cert_reqs=none")
    assert place.shown == "a:26379,b:7/main"
    assert place.options["password"] == "secret"
    assert (place.options["db"], place.options["username"]) == (2, "me")
