"""Servers that are gone, stand still, refuse, or hold what is none of ours."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage
from cortext.errors import (
    CortextError,
    NewerVersionError,
    SessionCorruptedError,
    SessionLockedError,
    SessionStorageError,
)
from cortext.installation import install_command
from cortext.stores.servers import (
    postgres_connection,
    postgres_timeouts,
    redis_connection,
    server_calls,
)
from cortext.stores.servers import redis_store as ours
from cortext.stores.servers.postgres_store import PostgresStore
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.store_registry import SERVERS, open_session_store
from tests.service.stores.clusters import asked, wait_replicated
from tests.service.stores.conftest import certified as certified
from tests.service.stores.conftest import guarded as guarded
from tests.service.stores.conftest import own_postgres as own_postgres
from tests.service.stores.conftest import postgres_server as postgres_server
from tests.service.stores.conftest import redis_cluster as redis_cluster
from tests.service.stores.conftest import redis_server as redis_server
from tests.service.stores.conftest import start_redis as start_redis
from tests.service.stores.databases import PostgresServer
from tests.service.stores.servers import RedisServer, free_port

pytestmark = pytest.mark.long


def said(text: str, **fields: Any) -> SessionMessage:
    return SessionMessage("user", text, **fields)


@pytest.mark.parametrize("kind", ["redis", "postgres"])
def test_store_reports_paused_server_and_recovers(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for without an end; when it goes on, so does the store."""
    server: Any = (
        request.getfixturevalue("start_redis")()
        if kind == "redis"
        else request.getfixturevalue("own_postgres")
    )
    monkeypatch.setattr(redis_connection, "TIMEOUT", 3.0)
    monkeypatch.setattr(postgres_timeouts, "SILENCE", 3.0)
    store = open_session_store(server.url)
    store.save(Session("s"))
    server.pause()
    monkeypatch.setattr(server_calls.until_answered, "__kwdefaults__", {"within": 0.2})
    for verb in (lambda: store.append("s", said("x", id="x")), lambda: store.save(Session("s"))):
        with pytest.raises(SessionStorageError, match="no answer from"):
            verb()
    server.go_on()
    monkeypatch.undo()
    store.append("s", said("x", id="x"))
    assert [one.id for one in store.load("s").messages] == ["x"]
    store.close()


def test_append_waits_for_restarted_redis_and_keeps_earlier_message(
    start_redis: Callable[..., RedisServer],
) -> None:
    """What was acknowledged is there after a power cut, and a call waits for the server."""
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    store = open_session_store(server.url)
    store.save(Session("s"))
    store.append("s", said("before", id="b"))
    server.kill()
    timer = threading.Timer(0.5, server.start)
    timer.start()
    assert store.append("s", said("after", id="a")) == 1
    timer.join()
    assert [one.id for one in store.load("s").messages] == ["b", "a"]
    store.close()


def test_rediss_url_uses_tls_and_refuses_untrusted_certificate(
    start_redis: Callable[..., RedisServer], certified: tuple[Path, Path]
) -> None:
    """`rediss://` speaks TLS, and a certificate that nobody vouches for is refused at once."""
    key, certificate = certified
    start_redis(
        "--tls-port", str(port := free_port()), "--tls-cert-file", str(certificate),
        "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate),
        "--tls-auth-clients", "no",
    )  # fmt: skip
    url = f"rediss://127.0.0.1:{port}/0/mine"
    store = open_session_store(f"{url}?ssl_ca_certs={certificate}")
    store.save(Session("s"))
    assert store.list_session_ids() == ["s"]
    store.close()
    with pytest.raises(SessionStorageError, match="refused") as raised:
        open_session_store(url).exists("s")
    assert "ssl_ca_certs" in raised.value.hint


def test_store_uses_new_master_after_sentinel_failover(guarded: Any) -> None:
    """After a failover the next call goes to the new master."""
    store = open_session_store(f"{guarded.url}/mine")
    store.save(Session("s"))
    store.append("s", said("one"))
    wait_replicated(guarded.master.port)
    guarded.kill_master()
    deadline = time.monotonic() + 60
    while True:
        try:
            store.append("s", said("two", id="two"))
            break
        except SessionStorageError:
            assert time.monotonic() < deadline
    assert [one.content for one in store.load("s").messages] == ["one", "two"]
    store.close()


def test_damaged_redis_record_is_reported_and_never_overwritten(redis_server: RedisServer) -> None:
    """A line that something else wrote: the rest is read, and nothing is saved over it."""
    space = f"damage{os.getpid()}"
    store = open_session_store(f"{redis_server.url}/{space}")
    store.save(Session("s", messages=[said("one")]))
    key = f"cortext:sessions:{space}:{{s}}"
    asked(redis_server.port, "RPUSH", f"{key}:records", "no record")
    store.append("s", said("two"))
    reading = store.read("s")
    assert [one.content for one in reading.session.messages] == ["one", "two"]
    assert [(damage.fatal, key in damage.path) for damage in reading.damages] == [(True, True)]
    assert [one.content for one in store.tail("s", 2)] == ["one", "two"]
    for refused in (lambda: store.load("s"), lambda: store.save(reading.session)):
        with pytest.raises(SessionCorruptedError, match="cortext:sessions"):
            refused()
    assert asked(redis_server.port, "LLEN", f"{key}:records").strip() == "3"
    asked(redis_server.port, "HSET", key, "head", "no head")
    assert [one.content for one in store.read("s").session.messages] == ["one", "two"]
    assert isinstance(store, ServedStore)
    assert list(store.heads()) == []


def test_redis_session_of_later_format_is_refused(redis_server: RedisServer) -> None:
    """Nothing is read or written by one that does not know how."""
    space = f"newer{os.getpid()}"
    store = open_session_store(f"{redis_server.url}/{space}")
    store.save(Session("s"))
    asked(redis_server.port, "HSET", f"cortext:sessions:{space}:{{s}}", "format", "2")
    for verb in (lambda: store.append("s", said("x")), lambda: store.load("s")):
        with pytest.raises(NewerVersionError, match="version 2"):
            verb()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis:", "needs a path"),
        ("redis:localhost", "not the URL of a server"),
        ("redis://h:port/0", "Port|port"),
        ("redis://h/0/..", "not a valid id"),
        ("redis+cluster://h/3", "only database 0"),
        ("redis+sentinel://h", "name of the service"),
        ("postgresql://h/d/a:b", "not a valid id"),
        ("postgresql://h/d?nonsense=1", "nonsense"),
        ("odd://x:secret@h", r"//…@h.*redis\+sentinel://.*postgresql://"),
        ("mysql://h/d?password=secret", r"mysql://h/d\?…"),
        ("redis://:a?secret@h/0", "'\\?' as %3F"),
        ("postgresql://u:a？secret@h/d", "not the URL of a server"),
        ("redis://:a／secret@h/0", "not the URL of a server"),
        ("Redis://:secret@h/0", "not a session store"),
    ],
)
def test_invalid_store_url_is_refused_without_showing_password(url: str, says: str) -> None:
    """One sentence, without the password."""
    with pytest.raises(ValueError, match=says) as raised:
        open_session_store(url)
    assert "secret" not in str(raised.value)


def test_session_held_by_other_process_is_not_deleted_and_stays_listed(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody is in the middle of a change, and is waited for in vain."""
    space = f"held{os.getpid()}"
    store = open_session_store(f"{redis_server.url}/{space}")
    store.save(Session("s"))
    monkeypatch.setattr(ours, "DEFAULT_WAIT", 0.1)
    key = f"cortext:sessions:{space}:{{s}}:hold"
    asked(redis_server.port, "SET", key, "token process 7 on another")
    for write in (lambda: store.delete("s"), lambda: store.append("s", said("x"))):
        with pytest.raises(SessionLockedError, match="process 7 on another"):
            write()
    assert store.list_session_ids() == ["s"]
    asked(redis_server.port, "DEL", key)
    assert store.delete("s")


def test_unknown_redis_url_option_is_named_in_error(redis_server: RedisServer) -> None:
    """It is named, and no traceback of another package comes."""
    with pytest.raises(ValueError, match="nonsense"):
        open_session_store(f"{redis_server.url}?nonsense=1").list_session_ids()


def test_only_append_hint_says_that_message_is_stored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_calls.until_answered, "__kwdefaults__", {"within": 0.1})
    store = open_session_store(f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(SessionStorageError) as listing:
        store.list_session_ids()
    with pytest.raises(SessionStorageError) as append:
        store.append("s", said("x"))
    assert listing.value.hint == "check that the server is running, and try again"
    assert append.value.hint.endswith("a message with the same id is stored only once")


def test_unreachable_server_error_has_hint_and_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, with what to do, and without the password."""
    monkeypatch.setattr(server_calls.until_answered, "__kwdefaults__", {"within": 0.1})
    for scheme in ("redis", "redis+cluster", "postgresql"):
        store = open_session_store(f"{scheme}://me:secret@127.0.0.1:{free_port()}/0")
        with pytest.raises(SessionStorageError, match="no answer from") as raised:
            store.exists("s")
        assert "secret" not in str(raised.value)
        assert raised.value.hint


class _Clock:
    """Time that passes only where it is waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("error", "before", "least", "most"),
    [
        ("Connection refused", False, 1, 2),
        ("Connection refused", True, 9, 10),
        ("timed out", False, 9, 10),
    ],
)
def test_wait_for_server_is_short_when_connection_is_refused_first(
    error: str, before: bool, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less where nobody listens and nobody did; and how long it was is said."""
    monkeypatch.setattr(server_calls, "time", clock := _Clock())
    address = server_calls.address_of("redis://h/0")

    def attempt() -> None:
        raise ConnectionError(error)

    with pytest.raises(SessionStorageError, match=error) as raised:
        server_calls.until_answered(
            attempt,
            passing=(ConnectionError,),
            no_answer=lambda error, waited: server_calls.unanswered(
                "Redis", address, error, waited
            ),
            answered_before=before,
        )
    assert least < clock.now <= most
    assert f"within {round(clock.now, 1):g} s" in str(raised.value)


def test_slow_postgres_answer_does_not_time_out(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that goes on telling may take longer than one that says nothing."""
    store = open_session_store(postgres_server.url)
    assert isinstance(store, PostgresStore)
    store.exists("s")
    monkeypatch.setattr(postgres_timeouts, "SILENCE", 1.0)
    slow = "select repeat('x', 20000), pg_sleep(0.2) from generate_series(1, 10)"
    assert len(store._link.rows(slow)) == 10
    store.close()


def test_permanent_postgres_error_is_not_retried(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused at the first attempt, with what to do where that is known."""

    def never(_: float) -> None:
        raise AssertionError("it was tried again")

    monkeypatch.setattr(server_calls.time, "sleep", never)
    with pytest.raises(SessionStorageError, match="refused") as raised:
        open_session_store(postgres_server.url.replace("/postgres", "/nowhere")).exists("s")
    assert "createdb" in raised.value.hint
    with pytest.raises(SessionStorageError, match="refused") as raised:
        open_session_store(postgres_server.url.replace("//me@", "//nobody@")).exists("s")
    assert "the user in the URL" in raised.value.hint
    store = open_session_store(postgres_server.url)
    assert isinstance(store, PostgresStore)
    with pytest.raises(SessionStorageError, match="refused: requested length too large"):
        store._link.rows("select repeat('x', 2000000000)")
    store.close()


def test_repr_of_server_place_contains_no_password() -> None:
    """Places and addresses, as a debugger or a log shows them."""
    for place in (
        postgres_connection.place_of("postgresql://u:secret@h/d"),
        redis_connection.place_of("redis://:secret@h/0"),
    ):
        assert "secret" not in f"{place!r} {place.address!r}"


def test_redis_password_error_is_immediate_and_has_hint(
    start_redis: Callable[..., RedisServer],
) -> None:
    """Said at once, for it will not pass; and with it all is well."""
    server = start_redis("--requirepass", "p@ss")
    with pytest.raises(SessionStorageError, match="refused") as raised:
        open_session_store(server.url).exists("s")
    assert "password" in raised.value.hint
    with pytest.raises(SessionStorageError, match="refused") as raised:
        open_session_store(server.url.replace("//", "//:wr%40ng@")).exists("s")
    assert "wr" not in str(raised.value).partition("refused")[0]
    assert not open_session_store(server.url.replace("//", "//:p%40ss@")).exists("s")


@pytest.mark.parametrize(("package", "url"), [("redis", "redis://h"), ("psycopg", "postgres://h")])
def test_missing_server_package_error_names_extra(
    package: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the extra that brings it."""
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CortextError, match=f"need the package {package}") as raised:
        open_session_store(url)
    assert install_command(package if package == "redis" else "postgres") in raised.value.hint


def test_open_store_does_not_connect_to_server() -> None:
    """A URL is only looked at: what is not there is told by the first call."""
    for kind in SERVERS:
        path = "/service" if "sentinel" in kind else ""
        open_session_store(f"{kind}://127.0.0.1:{free_port()}{path}").close()
