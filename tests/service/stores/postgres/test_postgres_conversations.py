"""Conversations in a real PostgreSQL, and what they do when it is not well."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

import psycopg
import pytest

from cortext import CortextError, Message, SessionCorruptedError, SessionStorageError, open_store
from cortext.errors import NewerVersionError
from cortext.installation import install_command
from cortext.service.stores.postgres.postgres_conversations import PostgresConversationStore
from tests.service.stores.conformance_base import NOBODY, say, texts
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import PATIENCE, STALL, in_loop, until
from tests.service.stores.proxy import Proxy


def asked(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def through(proxy: Proxy) -> str:
    return f"postgresql://me@127.0.0.1:{proxy.port}/postgres?sslmode=disable&gssencmode=disable"


@in_loop
async def test_each_method_needs_one_round_trip(
    postgres_server: PostgresServer, schema: str
) -> None:
    """Each call sends one request, once its statement is known on the connection."""
    async with (
        Proxy(postgres_server.port) as proxy,
        PostgresConversationStore(through(proxy), schema=schema) as store,
    ):
        for _ in range(2):
            id = await store.create()
            await store.add_message(id, say("warm"))
            await store.get(id)
            await store.get_history(id)
            await store.list()
            await store.delete(await store.create())

        async def requests(call: Any) -> int:
            before = proxy.requests
            await call
            return proxy.requests - before

        calls = (
            store.create(), store.add_message(id, say("x")), store.get(id),
            store.get_history(id), store.list(), store.delete(id),
        )  # fmt: skip
        assert [await requests(call) for call in calls] == [1] * 6


@in_loop
async def test_window_limits_history_but_table_keeps_all_messages(
    postgres_server: PostgresServer, schema: str
) -> None:
    """The table keeps all messages, in order, as JSON that people can ask for."""
    async with open_store(postgres_server.url, schema=schema, window=2) as store:
        id = await store.create(owner="ann")
        for number in range(30):
            await store.add_message(id, say(str(number)))
        assert texts(await store.get_history(id)) == ["28", "29"]
    kept = asked(postgres_server.url, f"select body->>'content' from {schema}.messages order by 1")
    assert {content for (content,) in kept} == {str(number) for number in range(30)}
    async with open_store(postgres_server.url, schema=schema, window=100) as store:
        assert texts(await store.get_history(id)) == [str(number) for number in range(30)]
        await store.delete(id)
    assert asked(postgres_server.url, f"select count(*) from {schema}.messages") == [(0,)]


@in_loop
async def test_message_ids_of_any_kind_are_stored_once(
    postgres_server: PostgresServer, schema: str
) -> None:
    """Also those that no text of the server could hold, or no index."""
    async with open_store(postgres_server.url, schema=schema) as store:
        id = await store.create()
        given = [say("x", id=strange) for strange in ("a\0b", "\ud800", "é" * 5000, "'; --")]
        for message in [*given, *given]:
            await store.add_message(id, message)
        assert await store.get_history(id) == given
        for bad in ("a\0", "\ud800"):
            with pytest.raises(ValueError, match="owner"):
                await store.create(owner=bad)


@in_loop
async def test_events_deliver_messages_longer_than_a_notification(
    postgres_server: PostgresServer, schema: str
) -> None:
    """A notification is short: what does not fit is fetched."""
    async with open_store(postgres_server.url, schema=schema) as store, store.events() as events:
        id = await store.create()
        given = [say("é" * 50_000), say("x" * 7_790), say("short \ud800")]
        for message in given:
            await store.add_message(id, message)
        heard = [await anext(events) for _ in range(4)]
        assert [event.message for event in heard] == [None, *given]


@in_loop
async def test_store_and_events_recover_after_server_restart(own_postgres: PostgresServer) -> None:
    """While it is down a caller gets a clear error in time; afterwards all is there, and the
    store and those who follow it go on by themselves."""
    async with (
        open_store(own_postgres.url, timeout=STALL, window=1000) as store,
        store.events() as events,
    ):
        id = await store.create()
        assert (await anext(events)).id == id
        await store.add_message(id, say("before"))
        assert (await anext(events)).kind == "message"
        own_postgres.stop()
        lost = say("during")
        with pytest.raises(SessionStorageError, match="no answer from PostgreSQL at 127") as caught:
            await store.add_message(id, lost)
        assert "stored once" in caught.value.hint
        hearing = asyncio.ensure_future(anext(events))
        await asyncio.to_thread(own_postgres.start)
        await store.add_message(id, lost)
        await store.add_message(id, lost)
        while not hearing.done():
            await store.add_message(id, say("after"))
            await asyncio.wait([hearing], timeout=0.2)
        kept = texts(await store.get_history(id))
        assert (kept[:2], set(kept[2:]) <= {"after"}) == (["before", "during"], True)


@in_loop
async def test_call_waits_for_server_restart_within_timeout(own_postgres: PostgresServer) -> None:
    """A call that meets a server on its way up succeeds, and what was acknowledged before a
    crash is there."""
    async with open_store(own_postgres.url, timeout=25.0, window=1000) as store:
        id = await store.create()
        for number in range(50):
            await store.add_message(id, say(str(number)))
        own_postgres.kill()
        adding = asyncio.ensure_future(store.add_message(id, say("50")))
        await asyncio.wait([adding], timeout=0.2)
        await asyncio.to_thread(own_postgres.start)
        await adding
        assert texts(await store.get_history(id)) == [str(number) for number in range(51)]


@in_loop
async def test_call_raises_within_timeout_when_server_hangs(own_postgres: PostgresServer) -> None:
    """A caller gets a clear error within the time-out; a repeated add is stored once."""
    async with open_store(own_postgres.url, timeout=STALL) as store:
        id = await store.create()
        message = say("once")
        own_postgres.pause()
        began = time.monotonic()
        with pytest.raises(SessionStorageError, match="no answer from PostgreSQL"):
            await store.add_message(id, message)
        assert time.monotonic() - began < PATIENCE / 2
        own_postgres.go_on()
        await store.add_message(id, message)
        await store.add_message(id, say("two"))
        assert texts(await store.get_history(id)) == ["once", "two"]


@in_loop
async def test_store_survives_slow_silent_and_lossy_network(
    postgres_server: PostgresServer, schema: str
) -> None:
    """Slow answers are waited for; without any there is an error within the time-out; a lost
    answer duplicates nothing."""
    async with (
        Proxy(postgres_server.port) as proxy,
        open_store(through(proxy), schema=schema, timeout=STALL) as store,
    ):
        id = await store.create()
        proxy.delay = 0.3
        await store.add_message(id, say("slow"))
        proxy.delay = 0.0
        for number in range(3):
            proxy.lose_answers = 1
            await store.add_message(id, say(str(number)))
            assert proxy.lose_answers == 0
        proxy.quiet = True
        message = say("quiet")
        with pytest.raises(SessionStorageError, match="no answer from PostgreSQL"):
            await asyncio.wait_for(store.add_message(id, message), PATIENCE / 2)
        proxy.quiet = False
        await store.add_message(id, message)
        assert texts(await store.get_history(id)) == ["slow", "0", "1", "2", "quiet"]


@in_loop
async def test_cancelled_calls_end_and_break_nothing(
    postgres_server: PostgresServer, schema: str
) -> None:
    """A task that is cancelled in a call ends at once, and the next call is as good as any."""
    async with open_store(postgres_server.url, schema=schema, window=1000) as store:
        id = await store.create()

        async def busy() -> None:
            while True:
                await store.add_message(id, say("x"))

        for turns in range(0, 60, 3):
            task = asyncio.ensure_future(busy())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE)
            assert task.cancelled()
        assert set(texts(await store.get_history(id))) <= {"x"}


MIGRATING = """
import asyncio, sys, cortext
async def main():
    async with cortext.open_store(sys.argv[1], schema=sys.argv[2], ttl=3600) as store:
        print(await store.create())
asyncio.run(main())
"""


def test_concurrent_processes_create_tables_once(
    postgres_server: PostgresServer, schema: str
) -> None:
    """One makes them, the others wait for it; nothing is made twice."""
    command = [sys.executable, "-c", MIGRATING, postgres_server.url, schema]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ids = {child.communicate(timeout=60)[0].strip() for child in children}
    assert [child.returncode for child in children] == [0] * 4
    kept = asked(postgres_server.url, f"select id from {schema}.conversations")
    assert {id for (id,) in kept} == ids
    assert asked(postgres_server.url, f"select number from {schema}.version") == [(1,)]


@in_loop
async def test_store_refuses_tables_of_newer_version(
    postgres_server: PostgresServer, schema: str
) -> None:
    """They are not written to, and the error says what to do."""
    async with open_store(postgres_server.url, schema=schema) as store:
        await store.create()
    asked(postgres_server.url, f"insert into {schema}.version (number) values (99)")
    async with open_store(postgres_server.url, schema=schema) as store:
        with pytest.raises(NewerVersionError, match="99"):
            await store.create()


ADDING = """
import asyncio, sys, cortext
async def main():
    store = cortext.open_store(sys.argv[1], schema=sys.argv[2])
    id = await store.create()
    print(id, flush=True)
    for number in range(100000):
        await store.add_message(id, cortext.Message("user", str(number)))
        print(number, flush=True)
asyncio.run(main())
"""


def test_acknowledged_messages_survive_kill_of_process(
    postgres_server: PostgresServer, schema: str
) -> None:
    """What an add returned for is in the table when the process dies at any moment."""
    command = [sys.executable, "-c", ADDING, postgres_server.url, schema]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    told = [int(child.stdout.readline()) for _ in range(50)]
    os.kill(child.pid, signal.SIGKILL)
    rest, _ = child.communicate()
    told += [int(line) for line in rest.splitlines()]
    statement = f"select (body->>'content')::int from {schema}.messages order by number"
    kept = [number for (number,) in asked(postgres_server.url, statement)]
    assert kept[: len(told)] == told


@in_loop
async def test_expiry_is_logged_once_across_instances(
    postgres_server: PostgresServer, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of several instances one says so, also when the one that created it is gone."""
    stores = [open_store(postgres_server.url, schema=schema, ttl=0.5) for _ in range(3)]
    ids = [await stores[0].create() for _ in range(3)]
    await stores[0].aclose()
    for store in stores[1:]:
        await store.list()
    await until(lambda: sum("expired" in line for line in caplog.messages) >= 3, "expiry")
    assert asked(postgres_server.url, f"select id from {schema}.conversations") == []
    assert sorted(m.split()[1] for m in caplog.messages if "expired" in m) == sorted(ids)
    for store in stores[1:]:
        await store.aclose()


@in_loop
async def test_max_conversations_holds_across_instances(
    postgres_server: PostgresServer, schema: str
) -> None:
    """When all have done, there are no more than the limit."""
    stores = [
        open_store(postgres_server.url, schema=schema, max_conversations=10) for _ in range(3)
    ]
    await asyncio.gather(*(store.create() for _ in range(10) for store in stores))
    assert len(await stores[0].list(limit=None)) == 10
    for store in stores:
        await store.aclose()


@in_loop
async def test_missing_database_fails_at_once_without_showing_password(
    postgres_server: PostgresServer,
) -> None:
    """A database that is not there is not asked for until the time-out, and no password shown."""
    url = postgres_server.url.replace("me@", "me:secret-word@").replace("/postgres", "/nothing")
    async with open_store(url, timeout=60.0) as store:
        with pytest.raises(SessionStorageError, match="refused") as caught:
            await store.get(NOBODY)
        assert "secret-word" not in f"{caught.value} {caught.value.hint}"


@in_loop
async def test_corrupt_message_row_raises_error_naming_its_table(
    postgres_server: PostgresServer, schema: str
) -> None:
    """A row that is no message is an error with its table, never an object of its choice."""
    async with open_store(postgres_server.url, schema=schema) as store:
        id = await store.create()
        await store.add_message(id, Message("user", "x"))
        hostile = '{"lc":1,"type":"constructor"}'
        await asyncio.to_thread(
            asked, postgres_server.url, f"update {schema}.messages set body = '{hostile}'"
        )
        with pytest.raises(SessionCorruptedError, match=id) as caught:
            await store.get_history(id)
        assert caught.value.path == f"{schema}.messages"


@pytest.mark.parametrize("bad", ["", "Upper", "a b", "x; drop table y", "é", "x" * 41])
def test_store_refuses_schema_that_is_not_a_plain_name(bad: str) -> None:
    """It becomes a part of statements."""
    with pytest.raises(ValueError, match="schema"):
        PostgresConversationStore("postgresql://127.0.0.1/x", schema=bad)


def test_open_store_refuses_invalid_url_at_once() -> None:
    """Not at the first call."""
    with pytest.raises(ValueError, match="not a URL of PostgreSQL"):
        open_store("postgresql://127.0.0.1/x?nonsense=1")


def test_missing_psycopg_error_names_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One sentence and a hint."""
    monkeypatch.setitem(sys.modules, "psycopg.conninfo", None)
    with pytest.raises(CortextError, match="package psycopg") as caught:
        open_store("postgresql://127.0.0.1/x")
    assert install_command("postgres") in caught.value.hint
