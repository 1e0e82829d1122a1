"""The connection of the session store to Redis: one server, a cluster, or Redis Sentinel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from cortext.stores.servers.redis_scripts import SessionScript
from cortext.stores.servers.server_calls import (
    TIMEOUT,
    Address,
    address_of,
    check_space,
    needed,
    refused,
    unanswered,
    until_answered,
)

T = TypeVar("T")
_PORTS = {"cluster": 6379, "sentinel": 26379}
_BAD_CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"
_HINTS = (
    (_BAD_CERTIFICATE, "give the CA certificate: rediss://HOST:PORT/DB?ssl_ca_certs=FILE"),
    ("NOAUTH", "write the password in the URL: redis://:PASSWORD@HOST:PORT/DB"),
    ("already authenticated", "write the password in the URL: redis://:PASSWORD@HOST:PORT/DB"),
    ("WRONGPASS", "check the user and the password in the URL"),
    ("invalid password", "check the user and the password in the URL"),
    ("NOPERM", "the user needs permission for the keys cortext:sessions:* and for scripts"),
    ("used memory", "free memory or raise the limit; sessions in Redis never expire"),
    ("OOM", "free memory or raise the limit; sessions in Redis never expire"),
    ("WRONGTYPE", "another program wrote to a key of cortext; use another database"),
    (
        "index is out of range",
        "by default, a server has the databases 0 to 15",
    ),
)


class RedisAddress(msgspec.Struct, frozen=True):
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
            "the URL lacks the name of the service: redis+sentinel://HOST:PORT/SERVICE/DB"
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
        self._options = self._parse_options()
        self._client: Any = None
        self._answered = False
        self._lock = threading.Lock()
        errors = self._redis.exceptions
        self._temporary_errors = (
            errors.ConnectionError, errors.TimeoutError, errors.ReadOnlyError,
            errors.ClusterDownError, errors.TryAgainError, errors.RedisClusterException,
        )  # fmt: skip
        self._permanent_errors = (errors.AuthenticationError, errors.AuthorizationError)

    def ask(self, work: Callable[[Any], T]) -> T:
        """Call `work` with a redis-py client and return its result.

        If the connection is lost, `work` is called again until the time-out. After the time-out,
        and for other errors of Redis, SessionStorageError is raised.
        """

        def attempt() -> T:
            try:
                return work(self._get_client())
            except self._permanent_errors as error:
                raise self._refusal_error(error) from None
            except self._temporary_errors as error:
                if _BAD_CERTIFICATE in str(error):
                    raise self._refusal_error(error) from None
                self._close_idle()
                raise
            except self._redis.exceptions.RedisError as error:
                raise self._refusal_error(error) from None

        answer = until_answered(
            attempt,
            passing=self._temporary_errors,
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

    def _get_client(self) -> Any:
        with self._lock:
            if self._client is None:
                client = self._open()
                _check_options(client)
                self._client = client
            return self._client

    def _parse_options(self) -> dict[str, Any]:
        place = self._place
        scheme = "rediss" if place.secure else "redis"
        hosts = place.address.hosts if not place.kind else "localhost"
        try:
            options = self._redis.connection.parse_url(place.address.url(scheme, hosts, place.db))
        except ValueError as error:
            text = place.address.scrubbed(str(error))
            raise ValueError(f"not a Redis URL: {text}") from None
        # Half of the time of a call, so that a dead connection leaves time for another attempt.
        no_retry = self._redis.retry.Retry(self._redis.backoff.NoBackoff(), 0)
        timeouts = {"socket_timeout": TIMEOUT / 2, "socket_connect_timeout": TIMEOUT / 2}
        return {**options, **timeouts, "retry": no_retry, "decode_responses": False}

    def _open(self) -> Any:
        redis, place, options = self._redis, self._place, dict(self._options)
        if not place.kind:
            return redis.Redis.from_pool(redis.ConnectionPool(**options))
        options.pop("connection_class", None)
        options.pop("host", None)
        port = _PORTS[place.kind]
        hosts = [_parse_host(text, port) for text in place.address.hosts.split(",")]
        if place.kind == "cluster":
            options.pop("db", None)
            nodes = [redis.cluster.ClusterNode(host, port) for host, port in hosts]
            cluster_options = {"ssl": place.secure, "require_full_coverage": False}
            return redis.RedisCluster(startup_nodes=nodes, **{**options, **cluster_options})
        timeouts = {"socket_timeout": TIMEOUT / 4, "socket_connect_timeout": TIMEOUT / 4}
        sentinel = redis.Sentinel(hosts, sentinel_kwargs={**timeouts, "ssl": place.secure})
        return sentinel.master_for(place.service, **{**options, "ssl": place.secure})

    def _close_idle(self) -> None:
        """Close the idle connections after an error.

        These connections are probably broken too. Each broken connection would make one more
        attempt fail.
        """
        client = self._client
        if self._place.kind == "cluster":
            self.close()
        elif client is not None:
            client.connection_pool.disconnect(inuse_connections=False)

    def _refusal_error(self, error: Exception) -> Exception:
        text = str(error)
        hint = next((hint for words, hint in _HINTS if words in text), "")
        return refused("Redis", self._place.address, error, hint)


def _check_options(client: Any) -> None:
    """Raise ValueError for an option after `?` in the URL that redis-py does not know.

    Without this check, redis-py would report the option later and less clearly.
    """
    pool = getattr(client, "connection_pool", None)
    try:
        if pool is not None:
            pool.connection_class(**pool.connection_kwargs)
    except TypeError as error:
        option = str(error).rpartition(") ")[2]
        raise ValueError(f"unknown option in the Redis URL: {option}") from None


def _parse_host(text: str, port: int) -> tuple[str, int]:
    host, colon, port_text = text.rpartition(":")
    if not colon or port_text.endswith("]"):
        return text.strip("[]"), port
    if not port_text.isdecimal():
        raise ValueError("the port in the Redis URL is not a number")
    return host.strip("[]"), int(port_text)
