"""Those who come in between, stand still, are killed or forked while they use a server."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from cortext import Session, SessionMessage
from cortext.errors import NewerVersionError, SessionLockedError
from cortext.stores.servers import (
    postgres_connection,
    postgres_store,
    postgres_tables,
    redis_scripts,
)
from cortext.stores.servers import redis_store as ours
from cortext.stores.servers.postgres_store import PostgresStore
from cortext.stores.servers.redis_store import RedisStore
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.servers.stored_session_parts import RecordPosition, RecordRow
from cortext.stores.store_registry import open_session_store
from tests.service.stores.clusters import asked
from tests.service.stores.conftest import postgres_server as postgres_server
from tests.service.stores.conftest import redis_server as redis_server
from tests.service.stores.databases import PostgresServer
from tests.service.stores.servers import RedisServer

_spaces = iter(range(10**6))


def said(text: str, **fields: Any) -> SessionMessage:
    return SessionMessage("user", text, **fields)


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[ServedStore]:
    """In a space of its own on each kind of server."""
    server = request.getfixturevalue(f"{request.param}_server")
    opened = open_session_store(f"{server.url}/r{os.getpid()}-{next(_spaces)}")
    assert isinstance(opened, ServedStore)
    yield opened
    opened.close()


@pytest.fixture
def key_space() -> str:
    return f"r{os.getpid()}-{next(_spaces)}"


@pytest.fixture
def redis(redis_server: RedisServer, key_space: str) -> Iterator[RedisStore]:
    opened = open_session_store(f"{redis_server.url}/{key_space}")
    assert isinstance(opened, RedisStore)
    yield opened
    opened.close()


def before_the_first_call(target: Any, name: str, work: Any, patch: pytest.MonkeyPatch) -> None:
    """Have `work` done by somebody else just before a method does its own for the first time."""
    method, rest = getattr(target, name), [work]

    def doing(*args: Any, **options: Any) -> Any:
        if rest:
            rest.pop()()
        return method(*args, **options)

    patch.setattr(target, name, doing)


def test_redis_save_uploads_expired_records_again(
    redis: RedisStore, redis_server: RedisServer, key_space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who stands still for a minute between bringing the records and having them take the others'
    place deletes none of them."""
    redis.save(Session("s", messages=[said("one"), said("two")]))
    session = redis.load("s")
    session.messages.append(said("three"))

    def expire() -> None:
        for key in asked(redis_server.port, "KEYS", f"cortext:sessions:{key_space}:*new*").split():
            asked(redis_server.port, "DEL", key)

    before_the_first_call(redis, "_write", expire, monkeypatch)
    redis.save(session)
    assert [one.content for one in redis.load("s").messages] == ["one", "two", "three"]
    assert asked(redis_server.port, "KEYS", f"cortext:sessions:{key_space}:*new*").split() == []


def test_redis_upload_keys_expire_and_repeated_upload_stores_once(
    redis: RedisStore, redis_server: RedisServer, key_space: str
) -> None:
    """However soon its bringer is killed; and what is brought twice is there once."""
    key = f"cortext:sessions:{key_space}:{{s}}:new"
    words = [word for row in (RecordRow("a", b"1"), RecordRow("b", b"2")) for word in row]
    for _ in range(2):
        assert redis._link.run(redis_scripts.UPLOAD, [key, f"{key}-ids"], 60_000, 0, *words) == 2
    for each in (key, f"{key}-ids"):
        assert 0 < int(asked(redis_server.port, "PTTL", each)) <= 60_000


def test_amend_does_not_restore_session_deleted_and_recreated_meanwhile(
    store: ServedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of a session is not written over the one that has its id and version now."""
    store.save(Session("s", owner="ann", messages=[said("old")]))

    def make_anew() -> None:
        store.delete("s")
        store.save(Session("s", owner="bob", messages=[said("new")]))

    name = "_put" if isinstance(store, RedisStore) else "_try_change"
    before_the_first_call(store, name, make_anew, monkeypatch)
    store.amend("s", title="amended")
    found = store.load("s")
    assert (found.owner, found.title) == ("bob", "amended")
    assert [one.content for one in found.messages] == ["new"]


def test_redis_delete_killed_midway_leaves_lists_consistent(
    redis: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaves a session that is there and listed, or neither; and the next delete ends it."""
    redis.save(Session("s", owner="ann"))

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    for name, left in (("_write", ["s"]), ("_remove_from_lists", [])):
        with monkeypatch.context() as patch:
            patch.setattr(redis, name, killed)
            with pytest.raises(KeyboardInterrupt):
                redis.delete("s")
        assert redis.list_session_ids() == [head.id for head in redis.heads("ann")] == left
        assert redis.exists("s") == bool(left)
    assert not redis.delete("s")
    assert redis._ids_in_list(redis._list_key()) == []


def test_redis_change_adds_unlisted_session_to_lists(
    redis: RedisStore, redis_server: RedisServer, key_space: str
) -> None:
    """Whoever left it there."""
    redis.save(Session("s", owner="ann"))
    for name in ("@all", "@owner:ann"):
        asked(redis_server.port, "SREM", f"cortext:sessions:{key_space}:{name}", "s")
    assert redis.list_session_ids() == []
    redis.amend("s", title="t")
    assert redis.list_session_ids() == [head.id for head in redis.heads("ann")] == ["s"]


def test_redis_session_recreated_during_delete_is_listed(
    redis: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed."""
    redis.save(Session("s", owner="ann"))
    new = Session("s", owner="ann")
    before_the_first_call(redis, "_remove_from_lists", lambda: redis.save(new), monkeypatch)
    assert redis.delete("s")
    assert redis.list_session_ids() == [head.id for head in redis.heads("ann")] == ["s"]


def test_redis_delete_sent_twice_returns_true(
    redis: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent again, and finds that it was done."""
    redis.save(Session("s"))
    run = redis._link.run

    def twice(script: Any, *args: Any) -> Any:
        if script is redis_scripts.REMOVE:
            run(script, *args)
        return run(script, *args)

    monkeypatch.setattr(redis._link, "run", twice)
    assert redis.delete("s")


def test_postgres_delete_returns_true_after_connection_breaks(
    postgres_server: PostgresServer, key_space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, where the connection went with the answer."""
    store = open_session_store(f"{postgres_server.url}/{key_space}")
    store.save(Session("s"))
    answer, broke = postgres_store.asked, list[str]()

    def breaks(connection: Any, statement: str, values: Any = None) -> Any:
        found = answer(connection, statement, values)
        if statement == postgres_tables.DELETE and not broke:
            broke.append(statement)
            connection.close()
            raise psycopg.OperationalError("it broke")
        return found

    monkeypatch.setattr(postgres_store, "asked", breaks)
    assert store.delete("s")
    assert (broke, store.delete("s")) == ([postgres_tables.DELETE], False)
    store.close()


def test_redis_owner_change_removes_session_from_old_owner_list(
    redis: RedisStore, redis_server: RedisServer, key_space: str
) -> None:
    """Has it in no list any more."""
    redis.save(Session("s", owner="ann"))
    redis.amend("s", owner="bob")
    lists = [f"cortext:sessions:{key_space}:@owner:{name}" for name in ("ann", "bob")]
    assert [asked(redis_server.port, "SCARD", key).strip() for key in lists] == ["0", "1"]


def test_sixty_postgres_stores_share_few_connections(
    postgres_server: PostgresServer, key_space: str
) -> None:
    """A store for each conversation does not use up the server."""
    stores = [open_session_store(f"{postgres_server.url}/{key_space}") for _ in range(60)]
    for number, store in enumerate(stores):
        store.save(Session(f"s{number}"))
    query = "select count(*) from pg_stat_activity where application_name = 'cortext'"
    with psycopg.connect(postgres_server.url) as connection:
        found: Any = connection.execute(query).fetchone()
    assert found[0] <= 20
    assert len(stores[0].list_session_ids()) == 60
    stores[0].close()


def test_forked_child_does_not_inherit_session_lock(
    store: ServedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the parent has alone, its child has to wait for; and closes none of its connections."""
    store.save(Session("s"))
    for module in (ours, postgres_connection):
        monkeypatch.setattr(module, "DEFAULT_WAIT", 0.2)

    def ask() -> None:
        store.close()
        with pytest.raises(SessionLockedError), store.alone("s"):
            pass

    with store.alone("s"):
        child = multiprocessing.get_context("fork").Process(target=ask)
        child.start()
        child.join(60)
        assert child.exitcode == 0
        store.append("s", said("on"))
    assert len(store.load("s").messages) == 1


def test_forked_child_does_not_release_session_lock_of_parent(store: ServedStore) -> None:
    """Does not take it from the parent."""
    store.save(Session("s"))
    with ExitStack() as held:
        held.enter_context(store.alone("s"))
        child = os.fork()
        if child == 0:
            try:
                held.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.append("s", said("still mine"))
    with store.alone("s"):
        assert len(store.load("s").messages) == 1


def test_interrupted_postgres_lock_leaves_no_lock_behind(
    postgres_server: PostgresServer, key_space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaves no lock on a connection that others use."""
    store = open_session_store(f"{postgres_server.url}/{key_space}")
    assert isinstance(store, PostgresStore)
    answer = postgres_connection.asked

    def interrupted(connection: Any, statement: str, values: Any = None) -> Any:
        found = answer(connection, statement, values)
        if statement == postgres_tables.ALONE:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(postgres_connection, "asked", interrupted)
        with pytest.raises(KeyboardInterrupt), store.alone("s"):
            pass
    # Not over a connection of the store: that might have the lock.
    key = {"space": key_space, "id": "s"}
    with psycopg.connect(postgres_server.url) as connection:
        connection.execute("set lock_timeout = '5s'")
        connection.execute(postgres_tables.ALONE.encode(), key)
    store.close()


def test_since_starts_again_when_server_lost_records(
    store: ServedStore, redis_server: RedisServer, postgres_server: PostgresServer
) -> None:
    """After a crash it has fewer records than were read: it is read from the beginning."""
    store.save(Session("s", messages=[said("a"), said("b"), said("c")]))
    mark, _, _ = store.since("s", RecordPosition())
    if isinstance(store, RedisStore):
        asked(redis_server.port, "LTRIM", f"{store._key('s')}:records", "0", "0")
    else:
        assert isinstance(store, PostgresStore)
        with psycopg.connect(postgres_server.url) as connection:
            where = "where space = %s"
            schema = postgres_tables.SCHEMA
            for statement in (
                f"delete from {schema}.records {where} and number > 1",
                f"update {schema}.sessions set last_number = 1 {where}",
            ):
                connection.execute(statement.encode(), (store._space,))
    mark, anew, found = store.since("s", mark)
    assert (anew, [one.content for one in found]) == (True, ["a"])
    assert store.since("s", mark)[1:] == (False, [])


def test_since_refuses_redis_session_of_later_format(
    redis: RedisStore, redis_server: RedisServer
) -> None:
    """It is refused, as when it is read."""
    redis.save(Session("s"))
    asked(redis_server.port, "HSET", redis._key("s"), "format", "2")
    with pytest.raises(NewerVersionError, match="version 2"):
        redis.since("s", RecordPosition())
