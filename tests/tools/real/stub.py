"""A stub of the four model APIs on loopback: it answers by a script and logs what it was asked.

    with Stub(["Hello.", Call("Read", {"file_path": "a.txt"}), "It says A."]) as stub:
        ...  # run a tool with its base URL at stub.url
    stub.asked  # every request that reached the model, as parsed JSON

A request that offers the model no tools is an aside (a title, a check of the model): it is
answered with `aside` and uses up no reply. Anything that is no model API gets a 404 and is logged.
"""

import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.tools.real.wire import JSON, Reply, counted, dialect_of

LOOPBACK = "127.0.0.1"
OVER = "The script is over."
# How long a stop may wait for the server to look up.
POLL = 0.02


@dataclass(frozen=True)
class Request:
    """One request as it came, and what was answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    status: int
    aside: bool = False


class Stub:
    """Serves until the `with` block ends, `requests` were answered or `seconds` have passed."""

    def __init__(
        self,
        replies: Sequence[Reply] = (),
        *,
        aside: str = "A stub's aside",
        requests: int = 200,
        seconds: float = 300,
    ) -> None:
        self.log: list[Request] = []
        self._replies = list(replies)
        self._aside = aside
        self._left = requests
        self._lock = threading.Lock()
        self._server = _Server((LOOPBACK, 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL,), daemon=True
        )
        self._alarm = threading.Timer(seconds, self._server.shutdown)
        self._alarm.daemon = True

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of the requests that the script answered, in order."""
        return [r.body for r in self.log if r.status == 200 and r.body and not r.aside]

    @property
    def unknown(self) -> list[str]:
        """What was asked that no model API has."""
        return [f"{r.method} {r.path}" for r in self.log if r.status == 404]

    def say(self, *replies: Reply) -> None:
        """More of the script."""
        with self._lock:
            self._replies.extend(replies)

    def __enter__(self) -> "Stub":
        self._thread.start()
        self._alarm.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._alarm.cancel()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(
        self, method: str, path: str, headers: dict[str, str], raw: bytes
    ) -> tuple[int, str, bytes]:
        """Status, content type and body for one request; logged."""
        with self._lock:
            if self._left == 0:
                return 503, JSON, b'{"error": {"message": "the stub has answered enough"}}'
            self._left -= 1
            body = _parsed(raw)
            status, kind, data, aside = self._choose(method, path, body)
            self.log.append(Request(method, path, headers, body, status, aside))
            return status, kind, data

    def _choose(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, str, bytes, bool]:
        dialect = dialect_of(path)
        if method == "POST" and (count := counted(path)) is not None:
            return 200, JSON, count, True
        if method != "POST" or dialect is None:
            return 404, JSON, b'{"error": {"message": "not here"}}', True
        aside = not body.get("tools")
        if aside:
            reply: Reply = self._aside
        else:
            reply = self._replies.pop(0) if self._replies else OVER
        return 200, *dialect(reply, body, path), aside


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: Stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A tool that ends leaves its connections as they are.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def _serve(self) -> None:
        assert isinstance(self.server, _Server)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, kind, data = self.server.stub.answer(self.command, self.path, headers, raw)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_CONNECT = do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Into the stub's own log, not to stderr."""


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {"unreadable": raw.decode("latin-1")} if raw else {}
    return value if isinstance(value, dict) else {"value": value}
