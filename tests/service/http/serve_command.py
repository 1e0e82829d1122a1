"""The real command, serving on a loopback port, and raw requests to it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from tests.command import SCRIPT

PATIENCE = 60.0


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem, which has to be one."""
        assert self.headers["content-type"].startswith("application/problem+json"), self
        assert self.json["status"] == self.status
        return self.json["code"]


class Served(NamedTuple):
    """A running server."""

    process: subprocess.Popen[str]
    port: int
    tokens: Path
    log: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.tokens / "local").read_text(encoding="ascii").strip()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """A request with the local token; a header of None is left out, bytes are sent as they
        are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        given: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": "application/json" if data else None,
            "Content-Length": str(len(data)) if data else None,
            **(headers or {}),
        }
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.send(data)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def create(self, **kwargs: Any) -> str:
        made = self.ask("POST", "/v1/conversations", **kwargs)
        assert made.status == 201, made
        return made.json["id"]

    def say(self, conversation: str, text: str, **fields: Any) -> Reply:
        body = {"role": "user", "content": text, **fields}
        return self.ask("POST", f"/v1/conversations/{conversation}/messages", body)

    def texts(self, id: str) -> list[str]:
        found = self.ask("GET", f"/v1/conversations/{id}/messages").json
        return [message["content"] for message in found["messages"]]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def served(
    cwd: Path, *args: str, env: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[Served]:
    """`cortext serve` with these arguments, until the end of the block."""
    process = subprocess.Popen(
        [SCRIPT, "serve", "--port", str(port), *args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    reader: threading.Thread | None = None
    try:
        first = process.stderr.readline()
        found = re.search(r"http://\S+?:(\d+)$", first.strip())
        assert found, first + process.stderr.read()
        tokens = Path(process.stderr.readline().partition("tokens: ")[2].strip())
        log: list[str] = []
        # A pipe that nobody reads is full one day, and then a server waits.
        reader = threading.Thread(target=log.extend, args=(process.stderr,), daemon=True)
        reader.start()
        yield Served(process, int(found[1]), tokens, log)
    finally:
        if process.poll() is None and "--workers" in args:
            # Killed, it would leave its workers behind.
            process.terminate()
        elif process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        if reader is not None:
            reader.join(PATIENCE)
            assert not reader.is_alive(), "somebody still has its stderr"
        process.stderr.close()


def until(holds: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"it did not happen: {what}"
        time.sleep(0.02)
