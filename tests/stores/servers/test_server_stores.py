"""What stores on a server add to the contract: heads alone, owners, following, and locks between
machines."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from redis.connection import AbstractConnection

from cortext import Session, SessionMessage
from cortext.errors import SessionLockedError, SessionNotFoundError
from cortext.stores.servers import postgres_connection, postgres_tables
from cortext.stores.servers import redis_store as ours
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.servers.stored_session_parts import RecordPosition
from cortext.stores.store_registry import open_session_store
from tests.service.stores.conftest import certified as certified
from tests.service.stores.conftest import guarded as guarded
from tests.service.stores.conftest import own_postgres as own_postgres
from tests.service.stores.conftest import postgres_server as postgres_server
from tests.service.stores.conftest import redis_cluster as redis_cluster
from tests.service.stores.conftest import redis_server as redis_server
from tests.service.stores.conftest import start_redis as start_redis
from tests.service.stores.databases import PostgresServer
from tests.service.stores.servers import RedisServer

_spaces = iter(range(10**6))


def said(text: str, **fields: Any) -> SessionMessage:
    return SessionMessage("user", text, **fields)


@pytest.fixture(params=["redis", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A space of its own on each kind of server."""
    server = request.getfixturevalue(f"{request.param}_server")
    return f"{server.url}/t{os.getpid()}-{next(_spaces)}"


@pytest.fixture
def store(url: str) -> Iterator[ServedStore]:
    opened = open_session_store(url)
    assert isinstance(opened, ServedStore)
    yield opened
    opened.close()


def test_heads_lists_sessions_of_owner_without_records(store: ServedStore) -> None:
    """One owner's or all, without their records; also of one who has odd characters, and after
    a session went to another."""
    odd = "a/b\0\ud800 ü" + "x" * 10_000
    for id, owner in (("one", "ann"), ("two", odd), ("three", "ann")):
        store.save(Session(id, owner=owner, messages=[said("x")]))
    store.amend("three", owner=odd)
    assert [(head.id, head.messages) for head in store.heads("ann")] == [("one", [])]
    assert [head.id for head in store.heads(odd)] == ["three", "two"]
    assert [head.id for head in store.heads()] == ["one", "three", "two"]
    store.delete("two")
    assert [head.id for head in store.heads(odd)] == ["three"]


def test_heads_with_last_uses_time_of_last_record(store: ServedStore) -> None:
    """If that is asked for."""
    store.save(Session("s"))
    late = said("later")
    store.append("s", late)
    (head,) = store.heads(last=True)
    assert head.updated_at == late.timestamp


def test_amend_changes_only_session_head(store: ServedStore) -> None:
    """Records and tool calls stay, and others' amendments too."""
    session = Session("s", messages=[said("one")])
    session.record_tool_call("read", {})
    store.save(session)
    assert store.amend("s", title="new").title == "new"
    store.amend("s", owner="ann")
    found = store.load("s")
    assert (found.title, found.owner, len(found.messages)) == ("new", "ann", 1)
    assert [call.tool_name for call in found.tool_history] == ["read"]
    with pytest.raises(SessionNotFoundError):
        store.amend("none", title="x")


def test_since_returns_each_record_once_and_restarts_after_rewrite(
    store: ServedStore, url: str
) -> None:
    """Each record once; all of them after the session was rewritten or made anew."""
    other = open_session_store(url)
    mark, anew, found = store.since("s", RecordPosition())
    assert (anew, found) == (False, [])
    other.save(Session("s", messages=[said("a")]))
    mark, anew, found = store.since("s", mark)
    assert (anew, [one.content for one in found]) == (True, ["a"])
    other.append("s", said("b"), said("c"))
    mark, anew, found = store.since("s", mark)
    assert (anew, [one.content for one in found]) == (False, ["b", "c"])
    store.amend("s", title="t")
    mark, anew, found = store.since("s", mark)
    assert (anew, found) == (False, [])
    changed = other.load("s")
    del changed.messages[0]
    other.save(changed)
    mark, anew, found = store.since("s", mark)
    assert (anew, [one.content for one in found]) == (True, ["b", "c"])
    other.delete("s")
    assert store.since("s", mark) == (RecordPosition(), True, [])
    other.close()


def test_inner_store_is_separate_from_outer_store(store: ServedStore, url: str) -> None:
    """The same id is another session there; no list shows it, and no URL names it."""
    inner = store.inner("checkpoints")
    inner.save(Session("s", title="inner"))
    assert (store.list_session_ids(), list(store.heads())) == ([], [])
    store.save(Session("s", title="outer"))
    assert (inner.load("s").title, store.load("s").title) == ("inner", "outer")
    store.delete("s")
    assert inner.list_session_ids() == ["s"]
    assert open_session_store(f"{url}/checkpoints").list_session_ids() == []
    with pytest.raises(ValueError, match="not a valid id"):
        open_session_store(f"{url}/%40checkpoints")


def test_append_recognises_messages_with_unusual_ids(store: ServedStore) -> None:
    """Whatever an id is made of and however long it is, it is known again."""
    ids = ["\0", "\ud800", "x" * 100_000, "x" * 99_999, "", "a\nb"]
    store.save(Session("s"))
    messages = [said("one", id=id) for id in ids if id]
    assert store.append("s", *messages) == len(messages)
    assert store.append("s", *messages) == 0
    assert store.load("s").messages == messages


def test_save_keeps_two_records_with_same_id(store: ServedStore) -> None:
    """As one that was read from a damaged file: both are kept."""
    twice = [said("first", id="m"), said("second", id="m")]
    store.save(Session("s", messages=twice))
    assert [one.content for one in store.read("s").session.messages] == ["first", "second"]
    assert store.append("s", said("third", id="m")) == 0


def test_save_and_append_store_more_records_than_one_batch(store: ServedStore) -> None:
    """More records than go at once, saved and appended."""
    messages = [said(str(number)) for number in range(2_500)]
    store.save(Session("s", messages=messages))
    more = [said(str(number)) for number in range(2_500)]
    assert store.append("s", *more) == 2_500
    assert store.load("s").messages == messages + more
    assert store.tail("s", 2) == more[-2:]


def _count(url: str, ready: Any) -> None:
    store = open_session_store(url)
    assert isinstance(store, ServedStore)
    ready.wait(60)
    for _ in range(10):
        with store.alone("s"), store.alone("s"):
            count = int(store.head("s").title)
            store.amend("s", title=str(count + 1))
    store.close()


def test_alone_excludes_other_processes(store: ServedStore, url: str) -> None:
    """What is read and written there is nobody else's meanwhile: no step of eight is lost."""
    store.save(Session("s", title="0"))
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    children = [spawn.Process(target=_count, args=(url, ready)) for _ in range(8)]
    for child in children:
        child.start()
    ready.set()
    for child in children:
        child.join(100)
    assert [child.exitcode for child in children] == [0] * 8
    assert store.head("s").title == "80"


def _hold(url: str, held: Any) -> None:
    store = open_session_store(url)
    assert isinstance(store, ServedStore)
    with store.alone("s"):
        held.set()
        time.sleep(600)


def test_lock_of_killed_process_expires(
    store: ServedStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock of a process that is gone ends, and work goes on."""
    monkeypatch.setattr(ours, "ALONE", 500)
    store.save(Session("s"))
    fork = multiprocessing.get_context("fork")
    held = fork.Event()
    child = fork.Process(target=_hold, args=(url, held))
    child.start()
    assert held.wait(60)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join(60)
    with store.alone("s"):
        store.append("s", said("on"))
    assert len(store.load("s").messages) == 1


def test_forked_child_uses_own_server_connections(store: ServedStore, url: str) -> None:
    """Parent and child go on with one store object, and neither hears the other's answers."""
    store.save(Session("s"))
    fork = multiprocessing.get_context("fork")

    def work(name: str) -> None:
        for number in range(20):
            store.append("s", said(name, id=f"{name}-{number}"))

    child = fork.Process(target=work, args=("child",))
    child.start()
    work("parent")
    child.join(60)
    assert child.exitcode == 0
    work("after")
    found = [one.id for one in store.load("s").messages]
    assert sorted(found) == sorted(
        f"{n}-{i}" for n in ("child", "parent", "after") for i in range(20)
    )


def test_alone_makes_other_thread_wait(store: ServedStore) -> None:
    """Also in one process there is one at a time."""
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait(60)
        with store.alone("s"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with store.alone("s"):
        inside.set()
        thread.join(0.3)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def test_writer_with_expired_redis_lock_cannot_write(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was away for longer than the lock lasts: what it would write is refused."""
    monkeypatch.setattr(ours, "ALONE", 50)
    url = f"{redis_server.url}/fence{next(_spaces)}"
    first, second = open_session_store(url), open_session_store(url)
    assert isinstance(first, ServedStore)
    assert isinstance(second, ServedStore)
    first.save(Session("s"))
    with first.alone("s"):
        with second.alone("s"):  # waits until the other's ends
            second.append("s", said("mine"))
        for write in (
            lambda: first.append("s", said("late")),
            lambda: first.amend("s", title="late"),
            lambda: first.save(Session("s")),
            lambda: first.delete("s"),
        ):
            with pytest.raises(SessionLockedError, match="for too long"):
                write()
    assert [one.content for one in first.load("s").messages] == ["mine"]
    first.append("s", said("after"))


def test_alone_raises_locked_error_after_waiting_too_long(
    store: ServedStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it is locked; in Redis also by whom."""
    for module in (ours, postgres_connection):
        monkeypatch.setattr(module, "DEFAULT_WAIT", 0.2)
    other = open_session_store(url)
    assert isinstance(other, ServedStore)
    with store.alone("s"):
        by = f"process {os.getpid()} on" if url.startswith("redis") else "another writer"
        with pytest.raises(SessionLockedError, match=f"locked by {by}"), other.alone("s"):
            pass
    with other.alone("s"):
        other.save(Session("s"))
    other.close()


def test_broken_postgres_connection_ends_lock_and_refuses_writes(
    own_postgres: PostgresServer,
) -> None:
    """Its lock is gone with it, so nothing more is written there; then all goes on."""
    store = open_session_store(own_postgres.url)
    assert isinstance(store, ServedStore)
    store.save(Session("s"))
    with store.alone("s"):
        own_postgres.kill()
        own_postgres.start()
        for _ in range(2):
            with pytest.raises(SessionLockedError, match="the connection broke"):
                store.append("s", said("late"))
    store.append("s", said("after"))
    assert [one.content for one in store.load("s").messages] == ["after"]
    store.close()


def test_redis_append_head_tail_and_since_take_one_round_trip(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a session is, and so is a look at its head or its tail."""
    store = open_session_store(f"{redis_server.url}/rounds{next(_spaces)}")
    assert isinstance(store, ServedStore)
    store.save(Session("s", messages=[said(str(n)) for n in range(1_000)]))
    verbs = (
        lambda: store.append("s", said("a"), said("b")),
        lambda: store.head("s"),
        lambda: store.tail("s", 5),
        lambda: store.since("s", RecordPosition()),
    )
    sent: list[int] = []
    send = AbstractConnection.send_packed_command

    def counted(self: Any, command: Any, *args: Any, **options: Any) -> Any:
        sent.append(sum(map(len, command)))
        return send(self, command, *args, **options)

    for verb in verbs:
        verb()  # from now on the server knows its script
    monkeypatch.setattr(AbstractConnection, "send_packed_command", counted)
    for verb in verbs:
        verb()
    assert len(sent) == len(verbs)
    assert max(sent) < 2_000
    store.close()


def test_servers_page_documents_every_key_and_column(
    redis_server: RedisServer, postgres_server: PostgresServer
) -> None:
    """docs/formats/servers.md has every key with its fields, and every column."""
    page = (Path(__file__).parents[3] / "docs/formats/servers.md").read_text(encoding="utf-8")
    space = f"p{os.getpid()}-{next(_spaces)}"
    for server in (redis_server, postgres_server):
        store = open_session_store(f"{server.url}/{space}")
        store.save(Session("one", owner="ann"))
        store.append("one", said("hello"))
        store.close()
    client: Any = redis.Redis.from_url(redis_server.url, decode_responses=True)
    with client:
        keys = [key for key in client.keys("*") if f":{space}:" in key]
        fields = client.hkeys(f"cortext:sessions:{space}:{{one}}")
    for key in keys:
        shown = key.replace(f":{space}", " SPACE").replace("{one}", "{ID}").replace("ann", "NAME")
        assert f"`{shown}`" in page
    assert len(keys) == 5
    with psycopg.connect(postgres_server.url) as connection:
        columns = connection.execute(
            "select column_name from information_schema.columns where table_schema = %s",
            (postgres_tables.SCHEMA,),
        ).fetchall()
    for name in (*fields, *(column for (column,) in columns)):
        assert f"`{name}`" in page
