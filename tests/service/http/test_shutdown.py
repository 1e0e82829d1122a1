"""A server that is stopped or killed loses nothing that it acknowledged."""

import signal
import socket
import threading
import time
from http.client import HTTPException
from pathlib import Path

import pytest

from cortext import open_store
from cortext.service.http.stalled_connections import STALLED
from tests.service.http.serve_command import Served, served, until
from tests.service.stores.loops import in_loop

WRITERS = 4
GRACE = 20.0
"""Seconds: far more than a reader that stalls is given, and less than a request is."""


class Writer(threading.Thread):
    """Posts numbered messages to a conversation of its own until the server is gone."""

    def __init__(self, server: Served, name: str) -> None:
        super().__init__(name=name)
        self.server = server
        self.id = server.create()
        self.acknowledged: list[str] = []

    def run(self) -> None:
        try:
            for number in range(100_000):
                reply = self.server.say(self.id, f"{self.name} {number}")
                if reply.status != 201:
                    return
                self.acknowledged.append(f"{self.name} {number}")
        except (OSError, HTTPException):
            return


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_stopped_server_keeps_every_acknowledged_message(
    tmp_path: Path, number: signal.Signals
) -> None:
    """In the midst of posts from several clients, with `file:`, whatever ends the server."""
    store = f"file:{tmp_path / 'kept'}"
    with served(tmp_path, "--store", store) as server:
        writers = [Writer(server, f"w{n}") for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        until(lambda: all(len(writer.acknowledged) >= 20 for writer in writers), "posts")
        code = server.stop(number)
        for writer in writers:
            writer.join(60)
            assert not writer.is_alive()
    assert code == {signal.SIGTERM: 0, signal.SIGINT: 130, signal.SIGKILL: -9}[number]
    for writer in writers:
        kept = _texts(store, writer.id)
        # The last may have been stored, and the answer to it lost.
        assert kept[: len(writer.acknowledged)] == writer.acknowledged
        assert len(kept) <= len(writer.acknowledged) + 1


def _texts(store: str, id: str) -> list[str]:
    found: list[str] = []

    @in_loop
    async def read() -> None:
        async with open_store(store, window=1_000_000) as opened:
            found.extend(message.content for message in await opened.get_history(id))

    read()
    return found


def test_killed_server_restarts_on_same_port_with_its_conversations(tmp_path: Path) -> None:
    """Under the same port, at once, with the same conversations."""
    store = f"file:{tmp_path / 'kept'}"
    with served(tmp_path, "--store", store) as server:
        id = server.create()
        server.say(id, "before")
        server.stop(signal.SIGKILL)
    with served(tmp_path, "--store", store, port=server.port) as again:
        assert again.say(id, "after").status == 201
        assert again.texts(id) == ["before", "after"]


def test_open_event_stream_does_not_delay_shutdown(tmp_path: Path) -> None:
    """Streams end when the server does, and it does not wait for its clients to leave."""
    from http.client import HTTPConnection

    with served(tmp_path) as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", f"/v1/conversations/{server.create()}/events", headers=headers)
        response = connection.getresponse()
        assert response.readline() == b"retry: 2000\n"
        assert server.stop() == 0
        assert response.read().strip() == b'event: begin\ndata: {"after":""}'
        response.close()
        connection.close()


@pytest.mark.needs("redis-server", "to share conversations between workers")
def test_workers_share_conversations_in_redis(tmp_path: Path) -> None:
    """Every worker has every conversation; all end together."""
    from tests.service.stores.servers import RedisServer

    redis = RedisServer(tmp_path / "redis").start()
    try:
        with served(tmp_path, "--store", redis.url, "--workers", "2") as server:
            until(lambda: server.ask("GET", "/readyz").status == 200, "a worker")
            id = server.create()
            for number in range(15):
                assert server.say(id, str(number)).status == 201
            # Each connection is a new one, so both workers answer some.
            assert all(len(server.texts(id)) == 15 for _ in range(10))
            assert server.stop() == 0
    finally:
        redis.stop()


def test_workers_share_conversations_in_files(tmp_path: Path) -> None:
    with served(tmp_path, "--store", f"file:{tmp_path / 'kept'}", "--workers", "2") as server:
        id = server.create()
        said = [str(number) for number in range(15)]
        assert {server.say(id, text).status for text in said} == {201}
        assert all(server.texts(id) == said for _ in range(10))
        assert server.stop() == 0


def test_stalled_reader_does_not_delay_shutdown(tmp_path: Path) -> None:
    """It is cut off after a moment; what was acknowledged meanwhile is kept."""
    store = f"file:{tmp_path / 'kept'}"
    with served(tmp_path, "--store", store) as server:
        id = server.create()
        with socket.create_connection(("127.0.0.1", server.port)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.sendall(_asking(server, f"/v1/conversations/{id}/events"))
            assert deaf.recv(15) == b"HTTP/1.1 200 OK"
            said = [f"{number} {'x' * 900_000}" for number in range(12)]
            assert {server.say(id, text).status for text in said} == {201}
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < GRACE
    assert _texts(store, id) == said


def _asking(server: Served, path: str) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    return f"{head}Authorization: Bearer {server.token}\r\n\r\n".encode()


def test_slow_reader_gets_complete_response_during_shutdown(tmp_path: Path) -> None:
    """Whoever goes on reading is waited for, however long that takes."""
    with served(tmp_path) as server:
        id = server.create()
        # More than what the system holds of it on its way.
        said = [f"{number} {'x' * 900_000}" for number in range(20)]
        assert {server.say(id, text).status for text in said} == {201}
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(_asking(server, f"/v1/conversations/{id}"))
            got = slow.recv(15)
            server.process.send_signal(signal.SIGTERM)
            paced = time.monotonic() + 2 * STALLED
            while part := slow.recv(1 << 16):
                got += part
                if time.monotonic() < paced:
                    # Reads are paced: it is this that takes long.
                    threading.Event().wait(0.05)
        assert server.process.wait(60) == 0
    assert got.endswith(b"}")
    assert all(text.encode() in got for text in said)
