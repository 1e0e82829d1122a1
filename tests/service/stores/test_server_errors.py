"""What a server has against a call: one clear sentence with a hint, in time, and no password."""

import asyncio
import logging
import os
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis.asyncio

from cortext import Message, SessionCorruptedError, SessionStorageError, open_store
from tests.service.stores.conformance_base import NOBODY, say
from tests.service.stores.databases import PostgresServer
from tests.service.stores.loops import PATIENCE, in_loop
from tests.service.stores.servers import RedisServer, free_port

Start = Callable[..., RedisServer]
SECRET = "sehr-geheim"


async def refusal(
    url: str, said: str, *, soon: bool = True, call: str = "create", **options: Any
) -> SessionStorageError:
    """The error of a call; one that is said soon does not wait for its long time-out."""
    options.setdefault("timeout", PATIENCE if soon else 1.0)
    began = time.monotonic()
    async with open_store(url, **options) as store:
        with pytest.raises(SessionStorageError, match=said) as caught:
            await (store.create() if call == "create" else store.get(NOBODY))
        assert SECRET not in repr(store)
    assert time.monotonic() - began < PATIENCE / 2
    assert caught.value.hint
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in f"{told} {caught.value!r} {caught.value.hint}"
    assert "\n" not in str(caught.value)
    return caught.value


@in_loop
async def test_redis_refuses_wrong_or_missing_password_with_hint(
    start_redis: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong one, and none where one is needed."""
    caplog.set_level(logging.DEBUG)
    guarded = start_redis("--requirepass", "right")
    wrong = guarded.url.replace("//", f"//:{SECRET}@")
    await refusal(wrong, "refused the user or the password")
    await refusal(guarded.url.replace("//", f"//ann:{SECRET}@"), "refused the user or the passw")
    assert "PASSWORD@HOST" in (await refusal(guarded.url, "requires a password")).hint
    assert SECRET not in caplog.text


@in_loop
async def test_redis_database_number_out_of_range_names_valid_range(
    redis_server: RedisServer,
) -> None:
    """The number is what is wrong, and the hint says which there are."""
    error = await refusal(redis_server.url.replace("/0", "/99"), "no database with that number")
    assert "0 to 15" in error.hint


@in_loop
async def test_redis_replica_is_reported_as_read_only(start_redis: Start) -> None:
    """It may be the master soon, so it is waited for; then the error says what it is."""
    master = start_redis("--repl-diskless-sync-delay", "0")
    replica = start_redis("--replicaof", "127.0.0.1", str(master.port))
    error = await refusal(replica.url, "is a replica, which refuses writes", soon=False)
    assert "redis+sentinel://" in error.hint


@in_loop
async def test_full_redis_refuses_writes_and_still_reads(start_redis: Start) -> None:
    """The server refuses writes, and what is there can be read."""
    server = start_redis("--maxmemory-policy", "noeviction")
    async with open_store(server.url, timeout=4 * PATIENCE) as store:
        id = await store.create()
        await store.add_message(id, say("kept"))
        async with redis.asyncio.Redis.from_url(server.url) as client:
            await client.config_set("maxmemory", "1mb")
        with pytest.raises(SessionStorageError, match="has no memory left") as caught:
            await store.add_message(id, say("more"))
        assert "max_conversations" in caught.value.hint
        assert [m.content for m in await store.get_history(id)] == ["kept"]


@in_loop
async def test_loading_redis_is_reported_after_timeout(start_redis: Start) -> None:
    """It is waited for; then the error says that it loads."""
    server = start_redis("--enable-debug-command", "yes", "--key-load-delay", "5000")
    async with redis.asyncio.Redis.from_url(server.url) as client:
        await client.config_set("loading-process-events-interval-bytes", 1024)
        for number in range(2000):
            await client.set(f"key-{number}", os.urandom(1000))
        loading = asyncio.ensure_future(_reload(server.url))
        while not (await client.info("persistence"))["loading"]:
            await asyncio.wait([loading], timeout=0.01)
        await refusal(server.url, "is still loading its data, also after", timeout=4.0)
        loading.cancel()
    server.kill()


async def _reload(url: str) -> None:
    async with redis.asyncio.Redis.from_url(url, socket_timeout=PATIENCE) as client:
        await client.execute_command("DEBUG", "RELOAD")


@in_loop
async def test_redis_tls_mismatch_errors_name_the_cause(
    start_redis: Start, certified: tuple[Path, Path]
) -> None:
    """TLS to a port without it, none to a port with it, and a certificate that nobody knows."""
    key, certificate = certified
    secure = free_port()
    server = start_redis(
        "--tls-port", str(secure), "--tls-cert-file", str(certificate),
        "--tls-key-file", str(key), "--tls-ca-cert-file", str(certificate),
    )  # fmt: skip
    error = await refusal(server.url.replace("redis:", "rediss:"), "no answer", soon=False)
    assert "redis instead of rediss" in error.hint
    error = await refusal(f"redis://127.0.0.1:{secure}/0", "no answer from Redis", soon=False)
    assert "rediss instead of redis" in error.hint
    await refusal(f"rediss://127.0.0.1:{secure}/0", "certificate that is not trusted here")
    known = f"rediss://127.0.0.1:{secure}/0?ssl_ca_certs={certificate}"
    error = await refusal(known, "requires a client certificate")
    assert "ssl_certfile" in error.hint


@in_loop
async def test_redis_reports_missing_permission_and_connection_limit(start_redis: Start) -> None:
    """A user who may not, and a server that has no connection left."""
    server = start_redis()
    bob = server.url.replace("//", "//bob:pass@")
    async with redis.asyncio.Redis.from_url(server.url) as client:
        await client.execute_command("ACL", "SETUSER", "bob", "on", ">pass", "~x:*", "+@all")
        await refusal(bob, "does not allow this user to do that")
        await client.config_set("maxclients", 1)
        await refusal(server.url, "has no connection left", soon=False)


@in_loop
async def test_unreachable_redis_error_names_system_cause() -> None:
    """The cause is in the sentence: what the system said."""
    url = f"redis://:{SECRET}@127.0.0.1:{free_port()}/0"
    error = await refusal(url, "no answer from Redis at 127.* within 1 s: .*refused", soon=False)
    assert "check that the server runs" in error.hint


@pytest.mark.parametrize(
    ("key", "verb"),
    [
        ("{prefix}:{{{id}}}", "get"), ("{prefix}:{{{id}}}:messages", "add"),
        ("{prefix}:{{{id}}}:ids", "add"), ("{prefix}:{{{id}}}:messages", "history"),
        ("{prefix}:{{all}}:created", "create"), ("{prefix}:{{all}}:owner", "create"),
        ("{prefix}:{{all}}:created", "list"), ("{prefix}:{{{id}}}", "list"),
    ],
)  # fmt: skip
@in_loop
async def test_redis_key_of_wrong_type_is_named_in_error(
    redis_server: RedisServer, key: str, verb: str
) -> None:
    """Which of the keys that a call is about something else has taken."""
    prefix = f"test-{uuid.uuid4()}"
    async with open_store(redis_server.url, prefix=prefix, ttl=None) as store:
        id = await store.create()
        taken = key.format(prefix=prefix, id=id)
        async with redis.asyncio.Redis.from_url(redis_server.url) as client:
            await client.set(taken, "something else")
        calls: dict[str, Callable[[], Any]] = {
            "get": lambda: store.get(id),
            "add": lambda: store.add_message(id, say("x")),
            "history": lambda: store.get_history(id),
            "create": store.create,
            "list": store.list,
        }
        with pytest.raises(
            SessionCorruptedError, match="has a string at this key, not a"
        ) as caught:
            await calls[verb]()
        assert caught.value.path == taken
        assert "`prefix`" in caught.value.hint


def told(server: PostgresServer, *statements: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@in_loop
async def test_postgres_reports_missing_database_role_permission_and_ssl(
    postgres_server: PostgresServer,
) -> None:
    """A database and a user that are not there, and one who may make no tables."""
    url = postgres_server.url
    nothing = url.replace("me@", f"me:{SECRET}@").replace("/postgres", "/nothing")
    error = await refusal(nothing, 'refused: database "nothing" does not exist')
    assert "createdb" in error.hint
    await refusal(url.replace("me@", "nobody@"), 'refused: role "nobody" does not exist')
    await asyncio.to_thread(
        told,
        postgres_server,
        "create role guest login",
        "revoke create on database postgres from public",
    )
    guest = url.replace("me@", "guest@")
    error = await refusal(guest, "refused: permission denied", schema=f"t_{uuid.uuid4().hex}")
    assert "CREATE" in error.hint
    await refusal(f"{url}?sslmode=require", "refused: .*server does not support SSL")


@in_loop
async def test_postgres_refuses_wrong_or_missing_password_with_hint(
    own_postgres: PostgresServer,
) -> None:
    """At once, and without it; also where none was given."""
    await asyncio.to_thread(told, own_postgres, "alter role me password 'right'")
    rules = own_postgres.folder / "data" / "pg_hba.conf"
    rules.write_text("host all all 127.0.0.1/32 scram-sha-256\n", encoding="utf-8")
    own_postgres.stop()
    await asyncio.to_thread(own_postgres.start)
    wrong = own_postgres.url.replace("me@", f"me:{SECRET}@")
    error = await refusal(wrong, 'password authentication failed for user "me"')
    assert "check the user and the password" in error.hint
    await refusal(own_postgres.url, "no password supplied")
    async with open_store(own_postgres.url.replace("me@", "me:right@")) as store:
        await store.add_message(await store.create(), Message("user", "x"))


@in_loop
async def test_postgres_reports_connection_limit_and_read_only_mode(
    own_postgres: PostgresServer,
) -> None:
    """Both may be over soon, so they are waited for; then the error says which it is."""
    settings = own_postgres.folder / "data" / "postgresql.auto.conf"
    settings.write_text(
        "max_connections = 4\nsuperuser_reserved_connections = 0\n", encoding="utf-8"
    )
    own_postgres.stop()
    await asyncio.to_thread(own_postgres.start)
    held = [await psycopg.AsyncConnection.connect(own_postgres.url) for _ in range(4)]
    error = await refusal(own_postgres.url, "refused for 1 s: .*too many clients", soon=False)
    assert "max_connections" in error.hint
    for connection in held:
        await connection.close()
    async with open_store(own_postgres.url) as store:
        await store.create()
    own_postgres.stop()
    settings.write_text("", encoding="utf-8")
    (own_postgres.folder / "data" / "standby.signal").touch()
    await asyncio.to_thread(own_postgres.start)
    error = await refusal(own_postgres.url, "refused for 1 s: .*read-only", soon=False)
    assert "target_session_attrs" in error.hint


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{SECRET}/x@h:1/0", f"redis://:{SECRET}?x@h", f"redis://:{SECRET}#x@h",
        f"redis+cluster://:{SECRET}/x@h:1", f"redis://u:p@h:{SECRET}",
        f"redis:{SECRET}", f"redis://h/{SECRET}", f"redis://h/0?{SECRET[:4]}=1",
        f"postgresql://me:{SECRET}/x@h/d", f"postgresql://me:{SECRET}%zz@h/d",
        f"postgresql://me:x@h:{SECRET}/d", f"mysql://me:{SECRET}@h", f"x:{SECRET}@h",
        f"redis://h?password={SECRET}&nonsense=1", f"mysql://h?password={SECRET}",
    ],
)  # fmt: skip
def test_bad_url_error_contains_no_password(url: str) -> None:
    """Also where one was written with a character that ends it."""
    with pytest.raises(ValueError) as caught:
        open_store(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)


def test_percent_encoded_password_is_decoded_and_hidden_in_repr(redis_server: RedisServer) -> None:
    """As the error says: percent-encoded."""
    from cortext.service.stores.redis.redis_address import parse

    place = parse(redis, "redis://u:%2F%40%3F%23%25@h:1/2")
    assert place.options["password"] == "/@?#%"
    assert "%2F" not in repr(place)
    assert "/@?" not in repr(place)
