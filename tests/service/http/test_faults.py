"""A Redis that stands still or is killed, seen through HTTP: an answer or a clear problem in time,
nothing twice, and all is well again without a restart of the service."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cortext import Message
from cortext.client import Client
from tests.service.http.serve_command import PATIENCE, Reply, Served, served, until
from tests.service.stores.conftest import start_redis as start_redis
from tests.service.stores.servers import RedisServer

pytestmark = pytest.mark.long

StartRedis = Callable[..., RedisServer]
TIMEOUT = 5.0
"""Of a call to Redis, unless one says otherwise."""
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Writer(threading.Thread):
    """Posts numbered messages to a conversation of its own, each with an id and until it is
    acknowledged, as the answer to the one before says."""

    def __init__(self, server: Served) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.id = server.create()
        self.acknowledged = 0
        self.refused: list[Reply] = []
        self.slowest = 0.0
        self.is_over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.is_over.is_set():
                self._say(str(self.acknowledged))
        except BaseException as error:
            self.error = error
            raise

    def _say(self, text: str) -> None:
        began = time.monotonic()
        reply = self.server.say(self.id, text, id=f"m{text}")
        self.slowest = max(self.slowest, time.monotonic() - began)
        if reply.status in (200, 201):
            self.acknowledged += 1
        else:
            self.refused.append(reply)
            self.is_over.wait(int(reply.headers["retry-after"]))

    def end(self) -> None:
        self.is_over.set()
        self.join(PATIENCE)
        assert not self.is_alive()
        assert self.error is None


@pytest.fixture
def redis(start_redis: StartRedis) -> RedisServer:
    return start_redis(*DURABLE)


@pytest.fixture
def server(tmp_path: Path, redis: RedisServer) -> Iterator[Served]:
    with served(tmp_path, "--store", redis.url, "--window", "100000") as it:
        yield it


@pytest.fixture
def writers(server: Served) -> Iterator[list[Writer]]:
    them = [Writer(server) for _ in range(3)]
    for writer in them:
        writer.start()
    _go_on(them)
    yield them
    for writer in them:
        writer.is_over.set()
        writer.join(PATIENCE)


def _go_on(writers: list[Writer]) -> None:
    """Wait until each has said something more."""
    said = [writer.acknowledged for writer in writers]
    until(
        lambda: all(w.acknowledged > n + 5 for w, n in zip(writers, said, strict=True)),
        "that every client is acknowledged again",
    )


def _check(writers: list[Writer]) -> None:
    """Whatever was refused was refused in time and in our words; all is there, once, in order."""
    for writer in writers:
        writer.end()
        assert {(r.status, r.code) for r in writer.refused} <= {(503, "unavailable")}
        assert all("127.0.0.1" not in r.body.decode() for r in writer.refused)
        assert writer.slowest < TIMEOUT + PATIENCE / 3
        found = writer.server.texts(writer.id)
        # The last may have been stored, and the answer to it been a time-out.
        assert found[: writer.acknowledged] == [str(n) for n in range(writer.acknowledged)]
        assert len(found) <= writer.acknowledged + 1


def test_clients_see_no_error_when_redis_pauses_below_timeout(
    redis: RedisServer, writers: list[Writer]
) -> None:
    """Below the time-out no client notices more than a pause."""
    redis.pause()
    end = time.monotonic() + 1
    until(lambda: time.monotonic() > end, "a second")
    redis.go_on()
    _go_on(writers)
    assert [writer.refused for writer in writers] == [[], [], []]
    _check(writers)


def test_requests_answer_503_while_redis_hangs_and_recover_after(
    server: Served, redis: RedisServer, writers: list[Writer]
) -> None:
    """Redis stands still for 5 seconds and more: readiness says so, and afterwards all goes on."""
    redis.pause()
    until(lambda: all(writer.refused for writer in writers), "that every client is refused")
    assert (server.ask("GET", "/readyz").status, server.ask("GET", "/healthz").status) == (503, 200)
    redis.go_on()
    _go_on(writers)
    assert server.ask("GET", "/readyz").status == 200
    _check(writers)


def test_writers_recover_without_loss_after_redis_restart(
    server: Served, redis: RedisServer, writers: list[Writer]
) -> None:
    """While clients post. A call that is under way may even be waited for."""
    redis.kill()
    until(lambda: all(writer.refused for writer in writers), "that every client is refused")
    redis.start()
    _go_on(writers)
    redis.kill()
    redis.start()
    _go_on(writers)
    _check(writers)


def test_client_retries_through_redis_restart_without_loss_or_repeats(
    server: Served, redis: RedisServer
) -> None:
    """It comes again when it is told to, and whoever calls it sees no error; one who follows hears
    every message once."""
    with Client(server.url, server.token, timeout=3 * PATIENCE, retries=100) as client:
        id = client.create()
        heard: list[str] = []
        listener = threading.Thread(target=_listen, args=(client, id, heard), daemon=True)
        listener.start()
        said = [str(number) for number in range(30)]
        for number, text in enumerate(said):
            if number == 10:
                redis.kill()
                starting = threading.Timer(TIMEOUT + 1, redis.start)
                starting.start()
            client.add_message(id, Message("user", text))
        starting.join()
        assert [message.content for message in client.get_history(id)] == said
        until(lambda: len(heard) >= len(said), "that all is heard")
        client.delete(id)
        listener.join(PATIENCE)
        assert heard == said


def test_killed_worker_is_replaced_without_losing_or_repeating_messages(
    tmp_path: Path, redis: RedisServer
) -> None:
    """Whoever was in the midst of a post repeats it, and all is there once."""
    with served(tmp_path, "--store", redis.url, "--window", "1000", "--workers", "2") as server:
        until(lambda: server.ask("GET", "/readyz").status == 200, "a worker")
        before = _workers(server)
        assert len(before) == 2
        with Client(server.url, server.token, timeout=PATIENCE, retries=100) as client:
            id = client.create()
            said = [str(number) for number in range(60)]
            for number, text in enumerate(said):
                # One of them has the client's connection.
                if number in (20, 40):
                    os.kill(before[number // 20 - 1], signal.SIGKILL)
                client.add_message(id, Message("user", text))
            assert [message.content for message in client.get_history(id)] == said
        until(lambda: len({*_workers(server)} - {*before}) == 2, "two others")
        assert server.stop() == 0


def _workers(server: Served) -> list[int]:
    """The processes that answer; what helps them to start is none of them."""
    main = server.process.pid
    children = Path(f"/proc/{main}/task/{main}/children").read_text(encoding="ascii").split()
    found: list[int] = []
    for pid in children:
        with contextlib.suppress(FileNotFoundError):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


def _listen(client: Any, id: str, heard: list[str]) -> None:
    events = client.events(id, after="")
    heard.extend(event.message.content for event in events if event.message is not None)
