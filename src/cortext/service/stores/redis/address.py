"""The address of Redis in a URL: one server, a cluster, or Redis Sentinel."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from cortext.service.stores.server_urls import check_address, scrubbed, secrets_of

_PORTS = {"cluster": 6379, "sentinel": 26379}
_OF_POOLS = frozenset(("connection_class", "max_connections", "db"))


class ServerAddress(NamedTuple):
    """The parsed URL of a Redis store.

    - `kind`: "" for one server, otherwise "cluster" or "sentinel"
    - `hosts`: the server, or the nodes or sentinels to contact first
    - `service`: the name of the master that sentinels know, or ""
    - `options`: the options of redis-py for a connection
    - `secrets`: the passwords, which must never be shown
    """

    kind: str
    hosts: list[tuple[str, int]]
    service: str
    options: dict[str, Any]
    secrets: list[str]

    def __repr__(self) -> str:
        return f"Place({self.shown})"

    @property
    def secure(self) -> bool:
        kind = self.options.get("connection_class")
        return kind is not None and "SSL" in kind.__name__

    @property
    def shown(self) -> str:
        """The hosts and the service, or the path of a socket, for messages: without a password."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return self.options.get("path") or hosts + (f"/{self.service}" if self.service else "")


def parse(redis: Any, url: str) -> ServerAddress:
    """Parse the URL of a Redis store. ValueError is raised for an invalid URL or option.

    The URL has one of these forms, with `rediss` instead of `redis` for TLS. Options of redis-py
    may follow after `?`. `redis` is the imported package redis.

    - `redis://HOST:PORT/DB`
    - `redis+cluster://HOST:PORT,HOST:PORT`
    - `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB`
    """
    scheme = url.partition(":")[0]
    family, _, kind = scheme.partition("+")
    if kind not in ("", *_PORTS):
        raise ValueError(
            f"Redis is reached by redis:, redis+cluster: or redis+sentinel:, not {scheme}:"
        )
    check_address("Redis", url)
    secrets, parts = secrets_of(url), urlsplit(url)
    if not kind:
        if scheme != "unix":
            _check("", "", unquote(parts.path.strip("/")))
        options = _options(redis, url, secrets)
        host = options.get("host", "localhost"), options.get("port", 6379)
        place = ServerAddress("", [host], "", options, secrets)
    else:
        user, at, listed = parts.netloc.rpartition("@")
        hosts = [_host(text, _PORTS[kind]) for text in listed.split(",")]
        service, _, db = unquote(parts.path.strip("/")).partition("/")
        if kind == "cluster":
            service, db = "", db or service
        _check(kind, service, db)
        plain = f"{family}://{user}{at}localhost/{db or 0}?{parts.query}"
        options = _options(redis, plain, secrets)
        del options["host"]
        place = ServerAddress(kind, hosts, service, options, secrets)
    _check_options(redis, place)
    return place


def _options(redis: Any, url: str, secrets: list[str]) -> dict[str, Any]:
    try:
        return redis.asyncio.connection.parse_url(url)
    except ValueError as error:
        raise ValueError(f"not a URL of Redis: {scrubbed(str(error), secrets)}") from None


def _check_options(redis: Any, place: ServerAddress) -> None:
    """Raise ValueError for an option after `?` that redis-py does not know.

    redis-py itself would report the option only at the first call, and less clearly.
    """
    connections = redis.asyncio.connection
    kind = place.options.get("connection_class", connections.Connection)
    taking = [redis.asyncio.RedisCluster] if place.kind == "cluster" else kind.__mro__
    known = {name for each in taking for name in inspect.signature(each.__init__).parameters}
    for name in sorted({*place.options} - known - _OF_POOLS):
        tls = name.startswith("ssl_") and not issubclass(kind, connections.SSLConnection)
        more = ": that is for rediss:, which is TLS" if tls else ""
        raise ValueError(f"Redis has no option {name!r} that a URL could name{more}")


def open_client(redis: Any, place: ServerAddress, timeout: float) -> Any:
    """Create a redis-py client for the running event loop. Nothing is sent yet.

    The client does not retry, because only its caller knows how much of the `timeout` is left.
    """
    never = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
    options = dict(place.options)
    if place.kind == "":
        # Calls have our own time-out. That of redis-py would need a task for each write, and Python
        # 3.11 loses cancellations in it.
        given = {"socket_timeout": None, "socket_connect_timeout": timeout / 2, "retry": never}
        pool = redis.asyncio.ConnectionPool(**{**options, **given})
        return redis.asyncio.Redis.from_pool(pool)
    secure = options.pop("connection_class", None) is not None
    # A part of our time-out, so that a silent node leaves time to try another.
    patience = {"socket_timeout": timeout / 4, "socket_connect_timeout": timeout / 4}
    if place.kind == "cluster":
        options.pop("db", None)
        nodes = [redis.asyncio.cluster.ClusterNode(host, port) for host, port in place.hosts]
        given = {"ssl": secure, "require_full_coverage": False, "retry": never, **patience}
        return redis.asyncio.RedisCluster(startup_nodes=nodes, **{**options, **given})
    asking = {**patience, "retry": never, "ssl": secure}
    sentinel = redis.asyncio.Sentinel(place.hosts, sentinel_kwargs=asking)
    given = {"socket_timeout": None, "socket_connect_timeout": timeout / 4, "retry": never}
    return sentinel.master_for(place.service, **{**options, **given, "ssl": secure})


def _check(kind: str, service: str, db: str) -> None:
    if kind == "cluster" and db not in ("", "0"):
        raise ValueError("a Redis Cluster has only database 0: redis+cluster://HOST:PORT,HOST:PORT")
    if kind == "sentinel" and not service:
        raise ValueError(
            "the sentinels need the name of a service: redis+sentinel://HOST:PORT/SERVICE"
        )
    if db and not (db.isascii() and db.isdigit()):
        raise ValueError("a database of Redis is a number: redis://HOST:PORT/0")


def _host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host of the URL has no name: HOST:PORT,HOST:PORT")
    return parts.hostname, parts.port or port
