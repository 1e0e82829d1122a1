"""The connection of the session store to Redis: one server, a cluster, or Redis Sentinel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from cortext.stores.servers.server_access import (
    TIMEOUT,
    Address,
    address_of,
    check_space,
    needed,
    refused,
    unanswered,
    until_answered,
)
from cortext.stores.servers.session_scripts import SessionScript

T = TypeVar("T")
_PORTS = {"cluster": 6379, "sentinel": 26379}
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
_HINTS = (
    (_UNTRUSTED, "name who signed its certificate: rediss://HOST:PORT/DB?ssl_ca_certs=FILE"),
    ("NOAUTH", "write the password in the URL: redis://:PASSWORD@HOST:PORT/DB"),
    ("already authenticated", "write the password in the URL: redis://:PASSWORD@HOST:PORT/DB"),
    ("WRONGPASS", "check the user and the password in the URL"),
    ("invalid password", "check the user and the password in the URL"),
    ("NOPERM", "the user needs the keys cortext:sessions:* and scripts"),
    ("used memory", "free some memory or allow more: nothing that is kept here expires"),
    ("OOM", "free some memory or allow more: nothing that is kept here expires"),
    ("WRONGTYPE", "something else wrote to a key of ours: take another database"),
    (
        "index is out of range",
        "a server has databases 0 to 15 unless its settings say otherwise",
    ),
)


class RedisAddress(NamedTuple):
    """The parsed URL of a Redis store.

    - `kind`: "" for one server, otherwise "cluster" or "sentinel"
    - `secure`: whether the connection uses TLS
    - `service`: the name of the master that sentinels know, or ""
    - `space`: the names of nested spaces, which are parts of a database with their own sessions
    """

    address: Address
    kind: str
    secure: bool
    service: str
    db: str
    space: tuple[str, ...]


def place_of(url: str) -> RedisAddress:
    """Parse the URL of a Redis store. ValueError is raised for an invalid URL.

    The URL has one of these forms, with `rediss` instead of `redis` for TLS. Names of spaces may
    follow as further parts of the path.

    - `redis://HOST:PORT/DB`
    - `redis+cluster://HOST:PORT,HOST:PORT`
    - `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB`
    """
    address = address_of(url)
    family, _, kind = address.scheme.partition("+")
    steps = list(address.steps)
    if kind == "sentinel" and not steps:
        raise ValueError(
            "the sentinels need the name of a service: redis+sentinel://HOST:PORT/SERVICE/DB"
        )
    service = steps.pop(0) if kind == "sentinel" else ""
    db = steps.pop(0) if steps and steps[0].isdecimal() else "0"
    if kind == "cluster" and db != "0":
        raise ValueError("a Redis Cluster has only database 0")
    return RedisAddress(address, kind, family == "rediss", service, db, check_space(steps))


class RedisConnection:
    """A redis-py client, created at the first call. Threads and forked processes may share it."""

    def __init__(self, place: RedisAddress) -> None:
        self._redis = needed("redis", "Redis", "redis")
        self._place = place
        self._options = self._parsed()
        self._client: Any = None
        self._answered = False
        self._making = threading.Lock()
        errors = self._redis.exceptions
        self._passing = (
            errors.ConnectionError, errors.TimeoutError, errors.ReadOnlyError,
            errors.ClusterDownError, errors.TryAgainError, errors.RedisClusterException,
        )  # fmt: skip
        self._staying = (errors.AuthenticationError, errors.AuthorizationError)

    def ask(self, work: Callable[[Any], T]) -> T:
        """Call `work` with a redis-py client and return its result.

        If the connection is lost, `work` is called again until the time-out. Other errors of Redis
        become SessionStorageError.
        """

        def attempt() -> T:
            try:
                return work(self._connected())
            except self._staying as error:
                raise self._refused(error) from None
            except self._passing as error:
                if _UNTRUSTED in str(error):
                    raise self._refused(error) from None
                self._mend()
                raise
            except self._redis.exceptions.RedisError as error:
                raise self._refused(error) from None

        answer = until_answered(
            attempt,
            passing=self._passing,
            no_answer=lambda error, waited: unanswered("Redis", self._place.address, error, waited),
            answered_before=self._answered,
        )
        self._answered = True
        return answer

    def run(self, script: SessionScript, keys: Sequence[str], *arguments: Any) -> Any:
        """Run a Lua script on the server with these keys and arguments, and return its answer."""

        def work(client: Any) -> Any:
            try:
                return client.evalsha(script.sha, len(keys), *keys, *arguments)
            except self._redis.exceptions.NoScriptError:
                return client.execute_command("EVAL", script.text, len(keys), *keys, *arguments)

        return self.ask(work)

    def each(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send several commands in one pipeline and return their answers."""

        def work(client: Any) -> list[Any]:
            with client.pipeline(transaction=False) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                return pipe.execute()

        return self.ask(work) if commands else []

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> Any:
        with self._making:
            if self._client is None:
                client = self._open()
                _check_options(client)
                self._client = client
            return self._client

    def _parsed(self) -> dict[str, Any]:
        place = self._place
        scheme = "rediss" if place.secure else "redis"
        hosts = place.address.hosts if not place.kind else "localhost"
        try:
            options = self._redis.connection.parse_url(place.address.url(scheme, hosts, place.db))
        except ValueError as error:
            said = place.address.scrubbed(str(error))
            raise ValueError(f"not a URL of Redis: {said}") from None
        # Half of the time of a call, so that a dead connection leaves time for another attempt.
        never = self._redis.retry.Retry(self._redis.backoff.NoBackoff(), 0)
        given = {"socket_timeout": TIMEOUT / 2, "socket_connect_timeout": TIMEOUT / 2}
        return {**options, **given, "retry": never, "decode_responses": False}

    def _open(self) -> Any:
        redis, place, options = self._redis, self._place, dict(self._options)
        if not place.kind:
            return redis.Redis.from_pool(redis.ConnectionPool(**options))
        options.pop("connection_class", None)
        options.pop("host", None)
        port = _PORTS[place.kind]
        hosts = [_host(text, port) for text in place.address.hosts.split(",")]
        if place.kind == "cluster":
            options.pop("db", None)
            nodes = [redis.cluster.ClusterNode(host, port) for host, port in hosts]
            given = {"ssl": place.secure, "require_full_coverage": False}
            return redis.RedisCluster(startup_nodes=nodes, **{**options, **given})
        asking = {"socket_timeout": TIMEOUT / 4, "socket_connect_timeout": TIMEOUT / 4}
        sentinel = redis.Sentinel(hosts, sentinel_kwargs={**asking, "ssl": place.secure})
        return sentinel.master_for(place.service, **{**options, "ssl": place.secure})

    def _mend(self) -> None:
        """Close idle connections after an error.

        They are probably broken as well, and each would cost an attempt.
        """
        client = self._client
        if self._place.kind == "cluster":
            self.close()
        elif client is not None:
            client.connection_pool.disconnect(inuse_connections=False)

    def _refused(self, error: Exception) -> Exception:
        said = str(error)
        hint = next((hint for words, hint in _HINTS if words in said), "")
        return refused("Redis", self._place.address, error, hint)


def _check_options(client: Any) -> None:
    """Raise ValueError for an option after `?` in the URL that redis-py does not know.

    redis-py itself would report the option later and less clearly.
    """
    pool = getattr(client, "connection_pool", None)
    try:
        if pool is not None:
            pool.connection_class(**pool.connection_kwargs)
    except TypeError as error:
        said = str(error).rpartition(") ")[2]
        raise ValueError(f"Redis has no such option that a URL could name: {said}") from None


def _host(text: str, port: int) -> tuple[str, int]:
    host, colon, given = text.rpartition(":")
    if not colon or given.endswith("]"):
        return text.strip("[]"), port
    if not given.isdecimal():
        raise ValueError("the port in the URL of a Redis is no number")
    return host.strip("[]"), int(given)
