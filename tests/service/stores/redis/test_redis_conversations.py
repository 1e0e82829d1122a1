"""Conversations on a real Redis server, and what they do when it is not well."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis.asyncio

from cortext import (
    CortextError,
    Message,
    RedisConversationStore,
    SessionCorruptedError,
    SessionStorageError,
)  # fmt: skip
from cortext.installation import install_command
from cortext.service.stores.redis.conversation_lua_scripts import ConversationScript
from cortext.service.stores.redis.redis_client import ReplicationError
from tests.service.stores.conformance_base import say, texts
from tests.service.stores.loops import PATIENCE, STALL, in_loop, until
from tests.service.stores.proxy import Proxy
from tests.service.stores.servers import RedisServer

Start = Callable[..., RedisServer]


async def asked(url: str, *command: Any) -> Any:
    client = redis.asyncio.Redis.from_url(url)
    try:
        return await client.execute_command(*command)
    finally:
        await client.aclose()


@in_loop
async def test_frequent_methods_need_one_round_trip(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """add_message, get and get_history send one request each; create and delete two, and create
    three where nothing expires."""
    async with (
        Proxy(redis_server.port) as proxy,
        RedisConversationStore(proxy.url, prefix=key_prefix, ttl=None) as store,
    ):
        id = await store.create()
        await store.add_message(id, say("warm"))
        await store.get(id)
        other = await store.create()
        await store.delete(other)

        async def requests(call: Any) -> int:
            before = proxy.requests
            await call
            return proxy.requests - before

        assert await requests(store.add_message(id, say("x"))) == 1
        assert await requests(store.get(id)) == 1
        assert await requests(store.get_history(id)) == 1
        assert await requests(store.create()) == 3
        assert await requests(store.delete(id)) == 2
        mortal = RedisConversationStore(proxy.url, prefix=key_prefix, ttl=3600)
        await mortal.create()
        await mortal._alarm.aclose()
        # A sweep that had begun before the timer was closed may still ask something.
        assert min([await requests(mortal.create()) for _ in range(3)]) == 2
        await mortal.aclose()


@in_loop
async def test_keys_of_conversation_share_a_slot_and_expire(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """So that it runs on a cluster; and all of them expire."""
    async with RedisConversationStore(redis_server.url, prefix=key_prefix, ttl=100) as store:
        id = await store.create(owner="ann")
        await store.add_message(id, say("x"))
        keys = [key.decode() for key in await asked(redis_server.url, "KEYS", f"{key_prefix}:*")]
        own = sorted(key for key in keys if id in key)
        tag = f"{key_prefix}:{{{id}}}"
        assert own == [tag, f"{tag}:ids", f"{tag}:messages"]
        assert all(key.startswith(f"{key_prefix}:{{all}}:") for key in keys if id not in key)
        for key in own:
            assert 90_000 < await asked(redis_server.url, "PTTL", key) <= 100_000
        await store.delete(id)
        assert await asked(redis_server.url, "KEYS", f"{key_prefix}:*") == []


@in_loop
async def test_store_sends_scripts_again_after_server_forgets(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """A server that forgot the scripts is told them anew."""
    async with RedisConversationStore(redis_server.url, prefix=key_prefix) as store:
        id = await store.create()
        await asked(redis_server.url, "SCRIPT", "FLUSH")
        await store.add_message(id, say("x"))
        assert texts(await store.get_history(id)) == ["x"]


@in_loop
async def test_lost_answer_does_not_duplicate_message_or_conversation(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """The call is repeated on a new connection, and the server knows the message."""
    async with (
        Proxy(redis_server.port) as proxy,
        RedisConversationStore(proxy.url, prefix=key_prefix, ttl=None) as store,
    ):
        id = await store.create()
        for number in range(5):
            proxy.lose_answers = 1
            await store.add_message(id, say(str(number)))
            assert proxy.lose_answers == 0
        assert texts(await store.get_history(id)) == ["0", "1", "2", "3", "4"]
        proxy.lose_answers = 1
        new = await store.create()
        assert len(await store.list()) == 2
        assert await store.get(new) is not None


@in_loop
async def test_store_waits_for_slow_network_and_recovers_from_silent_network(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """Slow answers are waited for; without any there is an error within the time-out, and the
    store goes on when the network does."""
    async with (
        Proxy(redis_server.port) as proxy,
        RedisConversationStore(proxy.url, prefix=key_prefix, timeout=STALL, ttl=None) as store,
    ):
        id = await store.create()
        proxy.delay = 0.3
        await store.add_message(id, say("slow"))
        proxy.delay = 0.0
        proxy.quiet = True
        message = say("quiet")
        with pytest.raises(SessionStorageError, match="no answer from Redis"):
            await asyncio.wait_for(store.add_message(id, message), PATIENCE / 2)
        proxy.quiet = False
        await store.add_message(id, message)
        assert texts(await store.get_history(id)) == ["slow", "quiet"]


@in_loop
async def test_call_raises_within_timeout_when_server_hangs(start_redis: Start) -> None:
    """A caller gets a clear error within the time-out; a repeated add is stored once."""
    server = start_redis()
    async with RedisConversationStore(server.url, timeout=STALL) as store:
        id = await store.create()
        message = say("once")
        server.pause()
        began = time.monotonic()
        with pytest.raises(SessionStorageError, match="no answer from Redis at 127") as caught:
            await store.add_message(id, message)
        assert time.monotonic() - began < PATIENCE
        assert "stored once" in caught.value.hint
        server.go_on()
        await store.add_message(id, message)
        await store.add_message(id, say("two"))
        assert texts(await store.get_history(id)) == ["once", "two"]


@in_loop
async def test_call_waits_for_paused_server_within_timeout(start_redis: Start) -> None:
    """Within the time-out nobody notices."""
    server = start_redis()
    async with RedisConversationStore(server.url, timeout=20.0) as store:
        id = await store.create()
        server.pause()
        adding = asyncio.ensure_future(store.add_message(id, say("x")))
        await asyncio.wait([adding], timeout=0.3)
        assert not adding.done()
        server.go_on()
        await adding
        assert texts(await store.get_history(id)) == ["x"]


@in_loop
async def test_acknowledged_messages_survive_server_kill_and_restart(start_redis: Start) -> None:
    """What was acknowledged is there with a durable server, and the store goes on by itself."""
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    async with RedisConversationStore(server.url, timeout=STALL) as store:
        id = await store.create()
        await store.add_message(id, say("before"))
        server.kill()
        with pytest.raises(SessionStorageError, match="no answer"):
            await store.get(id)
        server.start()
        await store.add_message(id, say("after"))
        assert texts(await store.get_history(id)) == ["before", "after"]


@in_loop
async def test_call_waits_for_server_restart_within_timeout(start_redis: Start) -> None:
    """A call that meets a server on its way up succeeds."""
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    async with RedisConversationStore(server.url, timeout=25.0) as store:
        id = await store.create()
        server.kill()
        adding = asyncio.ensure_future(store.add_message(id, say("x")))
        await asyncio.wait([adding], timeout=0.2)
        await asyncio.to_thread(server.start)
        await adding
        assert texts(await store.get_history(id)) == ["x"]


@in_loop
async def test_cancelled_calls_end_and_break_nothing(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """A task that is cancelled in a call ends, with our client and with one that was given."""
    given = redis.asyncio.Redis.from_url(redis_server.url)
    for target in (redis_server.url, given):
        async with RedisConversationStore(target, prefix=key_prefix) as store:
            id = await store.create()

            async def busy(store: RedisConversationStore = store, id: str = id) -> None:
                while True:
                    await store.add_message(id, say("x"))

            for turns in range(60):
                task = asyncio.ensure_future(busy())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task], timeout=PATIENCE)
                assert task.cancelled()
            found = await store.get(id)
            assert found is not None
            assert {m.content for m in found.messages} <= {"x"}
    await given.aclose()


@in_loop
async def test_writes_wait_for_replicas_and_raise_when_replicas_lag(start_redis: Start) -> None:
    """With a replica an add returns when that has it; a lack of replicas is an error that says
    that the message is stored, and repeating it waits again."""
    server = start_redis("--repl-diskless-sync-delay", "0")
    replica = start_redis("--replicaof", "127.0.0.1", str(server.port))
    async with RedisConversationStore(server.url, timeout=8.0, wait_replicas=1) as store:
        await until_replicating(server)
        id = await store.create()
        await store.add_message(id, say("one"))
        key = f"conv:{{{id}}}:messages"
        assert len(await asked(replica.url, "LRANGE", key, 0, -1)) == 1
        replica.pause()
        two = say("two")
        for _ in range(2):
            with pytest.raises(ReplicationError) as caught:
                await store.add_message(id, two)
            assert (caught.value.have, caught.value.wanted) == (0, 1)
        replica.go_on()
        await store.add_message(id, two)
        assert len(await asked(replica.url, "LRANGE", key, 0, -1)) == 2
        assert texts(await store.get_history(id)) == ["one", "two"]


async def until_replicating(server: RedisServer) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (await asked(server.url, "WAIT", 1, 100)):
        assert time.monotonic() < deadline, "no replica"


@in_loop
async def test_max_conversations_holds_across_instances(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """When all have done, there are no more than the limit, in the lists and in the keys."""
    stores = [
        RedisConversationStore(redis_server.url, prefix=key_prefix, max_conversations=10)
        for _ in range(3)
    ]
    await asyncio.gather(*(store.create() for _ in range(20) for store in stores))
    left = await stores[0].list(limit=None)
    assert len(left) == 10
    keys = await asked(redis_server.url, "KEYS", f"{key_prefix}:{{*-*-*}}")
    assert {key.decode().split("{")[1].rstrip("}") for key in keys} == {e.id for e in left}
    for store in stores:
        await store.aclose()


@in_loop
async def test_failed_create_leaves_no_conversation(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """It counts for nobody's limit, and the hint does not promise that repeating is harmless."""
    url = redis_server.url
    async with (
        RedisConversationStore(url, prefix=key_prefix, max_conversations=10) as store,
        RedisConversationStore(url, prefix=key_prefix, wait_replicas=1, timeout=0.5) as unlucky,
    ):
        real = [await store.create() for _ in range(8)]
        for _ in range(4):
            with pytest.raises(ReplicationError) as caught:
                await unlucky.create()
        assert "was undone" in str(caught.value)
        assert "stores nothing twice" not in caught.value.hint
        real.append(await store.create())
        assert [entry.id for entry in await store.list()] == real[::-1]
        heads = await asked(url, "KEYS", f"{key_prefix}:{{*-*-*}}*")
        assert len(heads) == 9


@in_loop
async def test_create_without_answer_is_undone(start_redis: Start) -> None:
    """What reached a server that stood still is gone when that goes on."""
    server = start_redis()
    async with RedisConversationStore(server.url, timeout=STALL, ttl=None) as store:
        kept = await store.create()
        server.pause()
        with pytest.raises(SessionStorageError, match="no answer"):
            await store.create()
        server.go_on()
        await until(lambda: not store._undo_tasks, "what was begun is taken back")
        assert [entry.id for entry in await store.list()] == [kept]
        assert len(await asked(server.url, "KEYS", "conv:{*-*-*}")) == 1


@in_loop
async def test_concurrent_create_over_limit_leaves_no_unlisted_conversation(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """One that gives way while it is being created is gone, in the list and in the keys."""
    options: dict[str, Any] = {"prefix": key_prefix, "ttl": None, "max_conversations": 1}
    async with (
        RedisConversationStore(redis_server.url, **options) as slow,
        RedisConversationStore(redis_server.url, **options) as quick,
    ):
        write, calls = slow._client.write, 0
        half_way, goes_on = asyncio.Event(), asyncio.Event()

        async def late(script: ConversationScript, keys: Any, *arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                half_way.set()
                await goes_on.wait()
            return await write(script, keys, *arguments)

        slow._client.write = late
        creating = asyncio.ensure_future(slow.create())
        await half_way.wait()
        other = await quick.create()
        goes_on.set()
        first = await creating
        there = {id for id in (first, other) if await quick.get(id) is not None}
        assert there == {entry.id for entry in await quick.list()}
        assert len(there) == 1


@in_loop
async def test_expiry_is_logged_once_across_instances(
    redis_server: RedisServer, key_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of several instances one says so, also when the one that created it is gone."""
    stores = [
        RedisConversationStore(redis_server.url, prefix=key_prefix, ttl=0.5) for _ in range(3)
    ]
    ids = [await stores[0].create() for _ in range(3)]
    await stores[0].aclose()
    for store in stores[1:]:
        await store.list()
    await until(lambda: sum("expired" in line for line in caplog.messages) >= 3, "expiry")
    assert await asked(redis_server.url, "KEYS", f"{key_prefix}:*") == []
    assert sorted(m.split()[1] for m in caplog.messages if "expired" in m) == sorted(ids)
    for store in stores[1:]:
        await store.aclose()


@in_loop
async def test_aclose_returns_promptly_when_server_is_gone(
    start_redis: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """It waited long enough; and nothing was begun there that might be left."""
    server = start_redis()
    server.kill()
    store = RedisConversationStore(server.url, timeout=STALL)
    with pytest.raises(SessionStorageError, match="no answer"):
        await store.create()
    async with asyncio.timeout(STALL - 1):
        await store.aclose()
    assert not any("may be left" in message for message in caplog.messages)


@in_loop
async def test_aclose_returns_promptly_and_warns_when_server_hangs(
    start_redis: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """What was sent may have been done, and that is said."""
    server = start_redis()
    store = RedisConversationStore(server.url, timeout=STALL)
    await store.create()
    server.pause()
    with pytest.raises(SessionStorageError, match="no answer"):
        await store.create()
    async with asyncio.timeout(STALL - 1):
        await store.aclose()
    assert sum("may remain" in message for message in caplog.messages) == 1


@in_loop
async def test_subscription_recovers_after_server_restart(start_redis: Start) -> None:
    """A subscription that lost its connection hears what happens afterwards."""
    server = start_redis()
    async with (
        RedisConversationStore(server.url, timeout=20.0) as store,
        store.events() as events,
    ):
        first = await store.create()
        assert (await anext(events)).id == first
        server.kill()
        hearing = asyncio.ensure_future(anext(events))
        await asyncio.wait([hearing], timeout=0.1)
        await asyncio.to_thread(server.start)
        while not hearing.done():
            await store.create()
            await asyncio.wait([hearing], timeout=0.1)
        assert (await hearing).kind == "created"


@in_loop
async def test_subscribing_raises_within_timeout_when_server_hangs(start_redis: Start) -> None:
    """Who wants to follow gets an error within the time-out, and can when the server goes on."""
    server = start_redis()
    async with RedisConversationStore(server.url, timeout=STALL) as store:
        await store.create()
        server.pause()
        with pytest.raises(SessionStorageError, match="no answer from Redis"):
            await asyncio.wait_for(store.events().start(), PATIENCE / 2)
        server.go_on()
        async with store.events() as events:
            id = await store.create()
            assert (await anext(events)).id == id


@in_loop
async def test_wrong_password_fails_at_once_and_is_not_shown(start_redis: Start) -> None:
    """It is not tried again until the time-out, and the password is not repeated."""
    server = start_redis("--requirepass", "right")
    url = server.url.replace("//", "//:secret-word@")
    async with RedisConversationStore(url, timeout=60.0) as store:
        with pytest.raises(SessionStorageError, match="refused") as caught:
            await store.create()
        assert "secret-word" not in f"{caught.value} {caught.value.hint}"


@in_loop
async def test_corrupt_message_raises_error_naming_its_key(
    redis_server: RedisServer, key_prefix: str
) -> None:
    """A line that is no message is an error with its key, never an object of its choice."""
    async with RedisConversationStore(redis_server.url, prefix=key_prefix) as store:
        id = await store.create()
        key = f"{key_prefix}:{{{id}}}:messages"
        await asked(redis_server.url, "RPUSH", key, '{"lc":1,"type":"constructor"}')
        with pytest.raises(SessionCorruptedError) as caught:
            await store.get_history(id)
        assert caught.value.path == key


@in_loop
async def test_aclose_leaves_given_client_open(redis_server: RedisServer, key_prefix: str) -> None:
    """aclose closes only what the store opened."""
    client = redis.asyncio.Redis.from_url(redis_server.url)
    async with RedisConversationStore(client, prefix=key_prefix) as store:
        await store.add_message(await store.create(), Message("user", "x"))
    assert await client.ping()
    await client.aclose()


@pytest.mark.parametrize("url", ["redis", "http://127.0.0.1", "redis://127.0.0.1:x/0"])
def test_store_refuses_invalid_url_at_once(url: str) -> None:
    """Not at the first call."""
    with pytest.raises(ValueError):
        RedisConversationStore(url)


@pytest.mark.parametrize("bad", ["", "a{b", "a b"])
def test_store_refuses_prefix_that_would_break_keys(bad: str) -> None:
    """Braces decide where keys are."""
    with pytest.raises(ValueError, match="prefix"):
        RedisConversationStore("redis://127.0.0.1", prefix=bad)


def test_missing_redis_package_error_names_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One sentence and a hint."""
    monkeypatch.setitem(__import__("sys").modules, "redis.asyncio.retry", None)
    with pytest.raises(CortextError, match="package redis") as caught:
        RedisConversationStore("redis://127.0.0.1")
    assert install_command("redis") in caught.value.hint
