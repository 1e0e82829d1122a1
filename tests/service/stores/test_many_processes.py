"""Many processes on one server, and a server that fails under them: limits hold, nothing that was
acknowledged is lost, and nothing is there twice."""

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest

from cortext import Message, RedisConversationStore, SessionStorageError, open_store
from cortext.service.stores.redis.redis_client import ReplicationError
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import PATIENCE, in_loop, until
from tests.service.stores.servers import RedisServer

pytestmark = pytest.mark.long

Start = Callable[..., RedisServer]
PROCESSES = 16
T = TypeVar("T")

WORK = """
import asyncio, json, sys, cortext
async def main(url, options, shared, name):
    async with cortext.open_store(url, **options) as store:
        made = []
        for number in range(10):
            made.append(await store.create())
            if shared:
                await store.add_message(shared, cortext.Message("user", f"{name} {number}"))
        print(json.dumps(made))
asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]))
"""


def working(
    url: str, options: dict[str, Any], shared: str, processes: int = PROCESSES
) -> list[str]:
    """What many processes made, all at once."""
    command = [sys.executable, "-c", WORK, url, json.dumps(options), shared]
    children = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(processes)
    ]
    made: list[str] = []
    for child in children:
        made += json.loads(child.communicate(timeout=100)[0])
        assert child.returncode == 0
    return made


@pytest.fixture(params=["redis", "postgres"])
def server_place(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    name = uuid.uuid4().hex
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return server.url, {"prefix": f"test-{name}"}
    database: PostgresServer = request.getfixturevalue("postgres_server")
    return database.url, {"schema": f"test_{name}"}


@in_loop
async def test_sixteen_processes_keep_limit_order_and_events(
    server_place: tuple[str, dict[str, Any]],
) -> None:
    """When all have done there are no more than the limit, the newest of all; each message is
    there once and in order; and who followed heard of everything once."""
    url, where = server_place
    async with (
        open_store(url, **where, max_conversations=None) as keeper,
        open_store(url, **where, window=1000) as reader,
    ):
        options = {**where, "max_conversations": 170, "window": 1000}
        shared = await keeper.create()
        async with keeper.events() as events:
            made = await asyncio.to_thread(working, url, options, shared)
            heard = await everything(events, 2 * len(made))
        assert sorted(e.id for e in heard if e.kind == "created") == sorted(made)
        said = [e.message.content for e in heard if e.message is not None]
        kept = [m.content for m in await reader.get_history(shared)]
        assert said == kept
        each = [[line for line in kept if line.split()[0] == str(n)] for n in range(PROCESSES)]
        assert each == [[f"{n} {k}" for k in range(10)] for n in range(PROCESSES)]
        options["max_conversations"] = 20
        more = await asyncio.to_thread(working, url, options, "", 6)
        left = [entry.id for entry in await keeper.list(limit=None)]
        assert len(left) == 20
        assert set(left) <= set(more)
        there = [id for id in [shared, *made, *more] if await keeper.get(id) is not None]
        assert sorted(there) == sorted(left)


async def everything(events: Any, count: int) -> list[Any]:
    async with asyncio.timeout(PATIENCE):
        return [await anext(events) for _ in range(count)]


@in_loop
async def test_ttl_follows_server_clock_not_client_clock(
    server_place: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose clock is a day ahead or behind expires nothing early and keeps nothing."""
    from datetime import timedelta

    from cortext import clock

    url, where = server_place
    real = clock.now
    for skew in (timedelta(days=1), timedelta(days=-1)):
        monkeypatch.setattr(clock, "now", lambda skew=skew: real() + skew)
        async with open_store(url, **where, ttl=4.0) as store:
            id = await store.create()
            began = asyncio.get_running_loop().time()
            await store.add_message(id, Message("user", "x"))
            found = await store.get(id)
            assert found is not None
            assert abs(found.updated_at - real()) < timedelta(hours=1)
            while await store.get(id) is not None:
                assert asyncio.get_running_loop().time() - began < PATIENCE
                await asyncio.sleep(0.05)
            assert asyncio.get_running_loop().time() - began >= 4.0


async def adding(store: Any, id: str, sure: list[str], over: asyncio.Event) -> None:
    """Add one after the other, each until it is acknowledged, as a caller is told to."""
    number = 0
    while not over.is_set():
        message = Message("user", str(number))
        while True:
            try:
                await store.add_message(id, message)
                break
            except SessionStorageError:
                await asyncio.sleep(0.05)
        sure.append(message.content)
        number += 1


async def answer(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call until the server answers in time."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            return await call()
        except SessionStorageError:
            assert asyncio.get_running_loop().time() < deadline, "the server does not answer"


async def through(store: Any, faults: Sequence[Callable[[], Any]]) -> tuple[str, list[str]]:
    """What was acknowledged to four who add to one conversation each while the server fails."""
    ids = [await answer(store.create) for _ in range(4)]
    sure: list[list[str]] = [[] for _ in ids]
    over = asyncio.Event()
    tasks = [
        asyncio.ensure_future(adding(store, id, told, over))
        for id, told in zip(ids, sure, strict=True)
    ]
    for fault in faults:
        before = [len(told) for told in sure]
        await until(lambda before=before: grown(sure, before), "adds before a fault")
        await asyncio.to_thread(fault)
    before = [len(told) for told in sure]
    await until(lambda: grown(sure, before), "adds after the faults")
    over.set()
    await asyncio.gather(*tasks)
    for id, told in zip(ids, sure, strict=True):
        history = await answer(lambda id=id: store.get_history(id))
        assert [m.content for m in history] == told
    return ids[0], sure[0]


def grown(sure: list[list[str]], before: list[int]) -> bool:
    return all(len(told) >= count + 5 for told, count in zip(sure, before, strict=True))


def still(server: Any) -> None:
    """It stands still for longer than a call waits, and goes on."""
    import time

    server.pause()
    time.sleep(2.5)  # the length of the fault itself
    server.go_on()


def killed(server: Any) -> None:
    server.kill()
    server.start()


@in_loop
async def test_writers_lose_no_message_when_redis_hangs_or_restarts(start_redis: Start) -> None:
    """It stands still, is killed and started again, with a replica that each add waits for."""
    server = start_redis(
        "--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"
    )
    replica = start_redis("--replicaof", "127.0.0.1", str(server.port))
    options: dict[str, Any] = {"timeout": 1.0, "wait_replicas": 1, "window": 100_000, "ttl": None}
    async with RedisConversationStore(server.url, **options) as store:
        await begun(store)
        faults = [lambda: still(server), lambda: killed(server), lambda: still(replica)]
        id, told = await through(store, faults)
    async with RedisConversationStore(replica.url, window=100_000, ttl=None) as copy:
        assert [m.content for m in await copy.get_history(id)] == told


async def begun(store: RedisConversationStore) -> None:
    """Wait for a replica that counts."""
    for _ in range(100):
        try:
            return await store.delete(await store.create())
        except ReplicationError:
            await asyncio.sleep(0.1)
    raise AssertionError("no replica")


@in_loop
async def test_writers_lose_no_message_when_postgres_hangs_or_restarts(
    own_postgres: PostgresServer,
) -> None:
    """It stands still, is killed and started again."""
    async with open_store(own_postgres.url, timeout=1.0, window=100_000) as store:
        await through(store, [lambda: still(own_postgres), lambda: killed(own_postgres)])
