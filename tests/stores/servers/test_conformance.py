"""The contract of session stores, over those on a real Redis and a real PostgreSQL."""

import hashlib

import pytest

from cortext.stores.servers.postgres_store import PostgresStore
from cortext.stores.servers.redis_store import RedisStore
from cortext.testing import SessionStoreSuite
from tests.service.stores.conftest import postgres_server as postgres_server
from tests.service.stores.conftest import redis_cluster as redis_cluster
from tests.service.stores.conftest import redis_server as redis_server


class OnServer(SessionStoreSuite):
    """A place is a space of its own on a server that all tests share."""

    server = ""

    def url(self, place: str) -> str:
        return f"{self.server}/s{hashlib.sha256(place.encode()).hexdigest()[:16]}"


class TestRedis(OnServer):
    @pytest.fixture(autouse=True)
    def _server(self, redis_server) -> None:
        self.server = redis_server.url

    def open(self, place: str) -> RedisStore:
        return RedisStore(self.url(place))


class TestRedisCluster(OnServer):
    # A cluster is seven processes: what is other about it are the slots, not the number of writers.
    writers = 4
    appends = 10

    @pytest.fixture(autouse=True)
    def _server(self, redis_cluster) -> None:
        self.server = redis_cluster.url

    def open(self, place: str) -> RedisStore:
        return RedisStore(self.url(place))


class TestPostgres(OnServer):
    @pytest.fixture(autouse=True)
    def _server(self, postgres_server) -> None:
        self.server = postgres_server.url

    def open(self, place: str) -> PostgresStore:
        return PostgresStore(self.url(place))
