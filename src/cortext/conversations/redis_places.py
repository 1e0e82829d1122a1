"""Where Redis is: one server, a cluster, or whom the sentinels call the master."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

_PORTS = {"cluster": 6379, "sentinel": 26379}


class Place(NamedTuple):
    """What a URL says. `kind` is "" for one server; `hosts` are those that are asked where to
    go; `options` are those of a connection."""

    kind: str
    hosts: list[tuple[str, int]]
    service: str
    options: dict[str, Any]

    @property
    def shown(self) -> str:
        """For people; never with a password."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return self.options.get("path") or hosts + (f"/{self.service}" if self.service else "")


def parse(redis: Any, url: str) -> Place:
    """The place that a URL names: `redis://HOST:PORT/DB`, `redis+cluster://HOST:PORT,HOST:PORT`,
    `redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DB`, and each as `rediss` with TLS. What stands
    after `?` are options of redis-py. ValueError says what is wrong."""
    scheme = url.partition(":")[0]
    family, _, kind = scheme.partition("+")
    if kind not in ("", *_PORTS):
        raise ValueError(
            f"Redis is reached by redis:, redis+cluster: or redis+sentinel:, not {scheme}:"
        )
    if not kind:
        options = redis.asyncio.connection.parse_url(url)
        host = options.get("host", "localhost"), options.get("port", 6379)
        return Place("", [host], "", options)
    parts = urlsplit(url)
    user, at, listed = parts.netloc.rpartition("@")
    hosts = [_host(text, _PORTS[kind]) for text in listed.split(",")]
    service, _, db = unquote(parts.path.strip("/")).partition("/")
    if kind == "cluster":
        service, db = "", db or service
    _check(kind, service, db)
    plain = f"{family}://{user}{at}localhost/{db or 0}?{parts.query}"
    options = redis.asyncio.connection.parse_url(plain)
    del options["host"]
    return Place(kind, hosts, service, options)


def open_client(redis: Any, place: Place, timeout: float) -> Any:
    """A client of redis-py for the running loop; nothing is sent yet. It never tries again by
    itself: that is for whoever knows the time-out."""
    never = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
    options = dict(place.options)
    if place.kind == "":
        # The time-out of a call is ours: this one would cost a task for each write, in which
        # Python 3.11 loses cancellations.
        given = {"socket_timeout": None, "socket_connect_timeout": timeout / 2, "retry": never}
        pool = redis.asyncio.ConnectionPool(**{**options, **given})
        return redis.asyncio.Redis.from_pool(pool)
    secure = options.pop("connection_class", None) is not None
    # A part of ours, so that one who does not answer leaves time to ask another.
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
        raise ValueError(f"a database of Redis is a number, not {db!r}")


def _host(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host of the URL has no name: HOST:PORT,HOST:PORT")
    return parts.hostname, parts.port or port
