"""The address in the URL of a Redis store: one server, a cluster, or Redis Sentinel."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from cortext.service.stores.store_url_checks import check_address, scrubbed, secrets_of

_DEFAULT_PORTS = {"cluster": 6379, "sentinel": 26379}
# Options of a connection pool, which the classes of connections do not list.
_POOL_OPTIONS = frozenset(("connection_class", "max_connections", "db"))


class ServerAddress(NamedTuple):
    """The parsed URL of a Redis store.

    - `kind`: "" for one server, otherwise "cluster" or "sentinel"
    - `hosts`: the host and port of the server, or of the nodes or sentinels to contact first
    - `service`: the name by which the sentinels know the master; "" without sentinels
    - `options`: the options of redis-py for a connection
    - `secrets`: the passwords, which must never be shown
    """

    kind: str
    hosts: list[tuple[str, int]]
    service: str
    options: dict[str, Any]
    secrets: list[str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown})"

    @property
    def secure(self) -> bool:
        connection_class = self.options.get("connection_class")
        return connection_class is not None and "SSL" in connection_class.__name__

    @property
    def shown(self) -> str:
        """The address as error messages show it, without a password."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return self.options.get("path") or hosts + (f"/{self.service}" if self.service else "")


def parse(redis: Any, url: str) -> ServerAddress:
    """Parse the URL of a Redis store. ValueError is raised for an invalid URL or option.

    `redis` is the imported package redis (redis-py). The URL has one of these forms:

    - `redis://HOST:PORT/DB`
    - `redis+cluster://HOST:PORT,HOST:PORT`
    - `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB`

    With `rediss` instead of `redis`, the connections use TLS. Options of redis-py may follow after
    `?`.
    """
    scheme = url.partition(":")[0]
    family, _, kind = scheme.partition("+")
    if kind not in ("", *_DEFAULT_PORTS):
        raise ValueError(
            f"a URL of Redis starts with redis:, redis+cluster: or redis+sentinel:, not {scheme}:"
        )
    check_address("Redis", url)
    secrets, parts = secrets_of(url), urlsplit(url)
    if not kind:
        if scheme != "unix":
            _check_database("", "", unquote(parts.path.strip("/")))
        options = _parse_options(redis, url, secrets)
        host = options.get("host", "localhost"), options.get("port", 6379)
        address = ServerAddress("", [host], "", options, secrets)
    else:
        user, at, host_list = parts.netloc.rpartition("@")
        hosts = [_parse_host(text, _DEFAULT_PORTS[kind]) for text in host_list.split(",")]
        service, _, db = unquote(parts.path.strip("/")).partition("/")
        if kind == "cluster":
            service, db = "", db or service
        _check_database(kind, service, db)
        plain_url = f"{family}://{user}{at}localhost/{db or 0}?{parts.query}"
        options = _parse_options(redis, plain_url, secrets)
        del options["host"]
        address = ServerAddress(kind, hosts, service, options, secrets)
    _check_options(redis, address)
    return address


def _parse_options(redis: Any, url: str, secrets: list[str]) -> dict[str, Any]:
    try:
        return redis.asyncio.connection.parse_url(url)
    except ValueError as error:
        raise ValueError(f"not a URL of Redis: {scrubbed(str(error), secrets)}") from None


def _check_options(redis: Any, address: ServerAddress) -> None:
    """Raise ValueError if the URL has an option that redis-py does not know.

    redis-py itself would report the option only at the first call, and less clearly.
    """
    connections = redis.asyncio.connection
    connection_class = address.options.get("connection_class", connections.Connection)
    classes = (
        [redis.asyncio.RedisCluster] if address.kind == "cluster" else connection_class.__mro__
    )
    known_names = {name for each in classes for name in inspect.signature(each.__init__).parameters}
    for name in sorted({*address.options} - known_names - _POOL_OPTIONS):
        needs_tls = name.startswith("ssl_") and not issubclass(
            connection_class, connections.SSLConnection
        )
        explanation = ": it needs rediss:, which uses TLS" if needs_tls else ""
        raise ValueError(f"a URL of Redis has no option {name!r}{explanation}")


def open_client(redis: Any, address: ServerAddress, timeout: float) -> Any:
    """Create a redis-py client for the running event loop, without a call to the server.

    `timeout` is the time-out of a call, in seconds. The client does not retry, because only the
    caller knows how much of this time is left.
    """
    no_retry = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
    options = dict(address.options)
    if address.kind == "":
        # `RedisClient` limits the time of calls. The time-out of redis-py would need a task for
        # each write, and Python 3.11 loses cancellations in it.
        overrides = {
            "socket_timeout": None,
            "socket_connect_timeout": timeout / 2,
            "retry": no_retry,
        }
        pool = redis.asyncio.ConnectionPool(**{**options, **overrides})
        return redis.asyncio.Redis.from_pool(pool)
    secure = options.pop("connection_class", None) is not None
    # A part of the time-out, so that time remains for another node if one does not answer.
    timeouts = {"socket_timeout": timeout / 4, "socket_connect_timeout": timeout / 4}
    if address.kind == "cluster":
        options.pop("db", None)
        nodes = [redis.asyncio.cluster.ClusterNode(host, port) for host, port in address.hosts]
        overrides = {"ssl": secure, "require_full_coverage": False, "retry": no_retry, **timeouts}
        return redis.asyncio.RedisCluster(startup_nodes=nodes, **{**options, **overrides})
    sentinel_options = {**timeouts, "retry": no_retry, "ssl": secure}
    sentinel = redis.asyncio.Sentinel(address.hosts, sentinel_kwargs=sentinel_options)
    overrides = {"socket_timeout": None, "socket_connect_timeout": timeout / 4, "retry": no_retry}
    return sentinel.master_for(address.service, **{**options, **overrides, "ssl": secure})


def _check_database(kind: str, service: str, db: str) -> None:
    if kind == "cluster" and db not in ("", "0"):
        raise ValueError("a Redis Cluster has only database 0: redis+cluster://HOST:PORT,HOST:PORT")
    if kind == "sentinel" and not service:
        raise ValueError(
            "the sentinels need the name of a service: redis+sentinel://HOST:PORT/SERVICE"
        )
    if db and not (db.isascii() and db.isdigit()):
        raise ValueError("a database of Redis must be a number: redis://HOST:PORT/0")


def _parse_host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host in the URL is empty: write HOST:PORT,HOST:PORT")
    return parts.hostname, parts.port or port
