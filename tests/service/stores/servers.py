"""A real Redis server on loopback, which a test may hold still, kill and start again."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

START = 20.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class RedisServer:
    """`redis-server` in a folder, with what it is told besides; as a sentinel with `config`."""

    def __init__(
        self, folder: Path, *options: str, port: int | None = None, kind: str = "server"
    ) -> None:
        self.port = port or free_port()
        self.folder = folder
        self.options = options
        self.kind = kind
        self.config = ""
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> "RedisServer":
        before = ["--save", ""]
        if self.kind == "sentinel":
            (self.folder / "sentinel.conf").write_text(self.config, encoding="utf-8")
            before = [str(self.folder / "sentinel.conf"), "--sentinel"]
        command = [
            "redis-server", *before, "--bind", "127.0.0.1", "--port", str(self.port),
            "--dir", str(self.folder), "--logfile", str(self.folder / "log"), *self.options,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.02)
        return self

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """As a power cut would: nothing is said or saved."""
        self._signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.go_on()
            self.process.terminate()
            self.process.wait(START)
            self.process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
                link.sendall(b"PING\r\n")
                # One with a password is up when it asks for it.
                return link.recv(16).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False
