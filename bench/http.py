"""(o) the HTTP face: a posted message beside an empty litestar route, both by uvicorn.

Two servers, asked in turns over one kept connection each, with fixed bytes: the client costs next
to nothing. On a busy machine the time that the servers themselves took says more than the clock.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple

_REQUESTS = 1_000
_TOKEN = "bench" * 8
_BODY = json.dumps({"role": "user", "content": "x" * 500}).encode()
_TICK = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    """A process of ours that serves, and a connection to it."""

    process: subprocess.Popen[str]
    connection: socket.socket
    request: bytes
    answer: int

    def ask(self) -> None:
        """One request and its whole answer, whose length is always the same."""
        self.connection.sendall(self.request)
        left = self.answer
        while left > 0:
            data = self.connection.recv(left)
            if not data:
                raise SystemExit("the server closed the connection")
            left -= len(data)

    def cpu(self) -> float:
        """Seconds of a processor that it took until now."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


@contextmanager
def _serving(kind: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "bench.http", "serve", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, path = process.stdout.readline().split()
            connection = socket.create_connection(("127.0.0.1", int(port)))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = _request(path)
            with connection:
                yield Server(process, connection, request, _first(connection, request))
        finally:
            process.send_signal(signal.SIGKILL)


def _request(path: str) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {_TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(_BODY)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + _BODY


def _first(connection: socket.socket, request: bytes) -> int:
    """Ask once; how many bytes the answer has, which has to be a success."""
    connection.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    if b" 201 " not in head.splitlines()[0]:
        raise SystemExit(f"the server answered {data!r}")
    sizes = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    length = int(sizes[0].split()[1]) if sizes else 0
    left = length - len(body)
    while left:
        left -= len(connection.recv(left))
    return len(head) + 4 + length


def times(rounds: int) -> dict[str, float]:
    """Requests a second of each, the median of the rounds, and what a request takes of the server's
    processor in microseconds, on average."""
    rates: dict[str, list[float]] = {"post": [], "empty": []}
    spent: dict[str, list[float]] = {"post": [], "empty": []}
    with _serving("post") as post, _serving("empty") as empty:
        servers = {"post": post, "empty": empty}
        for number in range(rounds + 1):
            for name, server in servers.items():
                rate, cpu = _run(server)
                # The first round warms both.
                if number:
                    rates[name].append(rate)
                    spent[name].append(cpu)
    found = {name: median(each) for name, each in rates.items()}
    return found | {f"{name} cpu": 1e6 * sum(each) / len(each) for name, each in spent.items()}


def _run(server: Server) -> tuple[float, float]:
    """Requests a second, and the server's own seconds for each."""
    cpu, began = server.cpu(), time.perf_counter()
    for _ in range(_REQUESTS):
        server.ask()
    rate = _REQUESTS / (time.perf_counter() - began)
    return rate, (server.cpu() - cpu) / _REQUESTS


def _serve(kind: str) -> None:
    """Serve until killed; the port and the path to post to are printed."""
    import uvicorn

    app, path = asyncio.run(_service()) if kind == "post" else (_empty(), "/empty")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], path, flush=True)
    config = uvicorn.Config(
        app, access_log=False, log_config=None, ws="none", server_header=False, proxy_headers=False
    )
    uvicorn.Server(config).run(sockets=[listener])


async def _service() -> tuple[Any, str]:
    from cortext import MemoryConversationStore
    from cortext.asgi import create_app

    store = MemoryConversationStore()
    path = f"/v1/conversations/{await store.create()}/messages"
    return create_app(store, tokens={_TOKEN: ""}), path


def _empty() -> Any:
    from litestar import Litestar, post

    async def empty() -> None: ...

    return Litestar([post("/empty")(empty)], openapi_config=None, logging_config=None)


def in_child(rounds: int) -> dict[str, float]:
    """All of it, from a process of its own."""
    command = [sys.executable, "-m", "bench.http", str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(sys.argv[2])
    else:
        print(json.dumps(times(int(sys.argv[1]))))
