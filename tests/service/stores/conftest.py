"""Servers that conversations are kept on."""

import logging
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.service.stores.clusters import Guarded, RedisCluster
from tests.service.stores.databases import PostgresServer, program
from tests.service.stores.servers import RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One server for all tests that leave it as it is."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed; needed to keep conversations on it")
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts servers that a test may stop, hold still and kill."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed; needed to keep conversations on it")
    servers: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        servers.append(RedisServer(tmp_path / f"redis{len(servers)}", *options))
        return servers[-1].start()

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """One cluster for all tests that leave it as it is."""
    yield from _running(RedisCluster(tmp_path_factory.mktemp("cluster")))


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[RedisCluster]:
    """A cluster whose nodes a test may stop and kill."""
    yield from _running(RedisCluster(tmp_path / "cluster"))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    """A master and a replica with a sentinel, which a test may stop and kill."""
    yield from _running(Guarded(tmp_path / "guarded"))


Several = TypeVar("Several", RedisCluster, Guarded)


def _running(servers: Several) -> Iterator[Several]:
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("redis-server is not installed; needed to keep conversations on it")
    try:
        yield servers.start()
    finally:
        servers.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests that leave it as it is."""
    yield from _database()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may stop, hold still and kill."""
    yield from _database()


def _database() -> Iterator[PostgresServer]:
    if program("initdb") is None:
        pytest.skip("postgresql is not installed; needed to keep conversations in it")
    server = PostgresServer()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A key and its certificate, for loopback."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate


@pytest.fixture(autouse=True)
def all_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "cortext.conversations")
