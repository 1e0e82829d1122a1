"""Servers that do not do what a server should."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

Talk = Callable[[socket.socket, bytes], None]


def answer(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} So", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def request_of(wire: socket.socket) -> bytes:
    """One request with its body; nothing when the client has left."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = wire.recv(65536)
        if not part:
            return b""
        data += part
        if data.startswith(b"\x16"):
            # Of one who takes us for a server with TLS.
            return data
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if b"content-len" in line]
    while len(body) < int(sizes[0] if sizes else 0):
        body += wire.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def talking(talk: Talk) -> Iterator[str]:
    """The address of a server that answers every request by `talk`."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_now: list[socket.socket] = []

    def serve(wire: socket.socket) -> None:
        with contextlib.suppress(OSError), wire:
            while request := request_of(wire):
                talk(wire, request)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                wire = listener.accept()[0]
                open_now.append(wire)
                threading.Thread(target=serve, args=(wire,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for each in (listener, *open_now):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(30)


def saying(*answers: bytes) -> Talk:
    """Each request gets the next of these; the last stays."""
    left = [*answers]

    def talk(wire: socket.socket, _request: bytes) -> None:
        wire.sendall(left.pop(0) if len(left) > 1 else left[0])

    return talk


def listing(entries: list[dict[str, Any]], *, pages: bool) -> Talk:
    """A server with these conversations, newest first, of which it gives 1,000 at a time; one of
    an earlier release knows no `pages`."""

    def talk(wire: socket.socket, request: bytes) -> None:
        query = parse_qs(urlsplit(request.split(b" ")[1].decode()).query)
        until = query.get("until", ["9"])[0] if pages else "9"
        found = [each for each in entries if each["createdAt"] <= until]
        size = int(query["limit"][0])
        assert 1 <= size <= 1000
        wire.sendall(answer(200, json.dumps({"conversations": found[:size]}).encode()))

    return talk
