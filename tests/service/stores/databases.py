"""A real PostgreSQL on loopback, which a test may hold still, kill and start again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.service.stores.servers import START, free_port

_DEBIAN = Path("/usr/lib/postgresql")


def program(name: str) -> str | None:
    """Debian keeps what starts a server off the PATH."""
    found = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


class PostgresServer:
    """`postgres` in a folder of its own. It refuses to run as root: then it is somebody else."""

    def __init__(self) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="cortext-postgres-"))
        self.process: subprocess.Popen[Any] | None = None
        self.user = None
        if os.getuid() == 0:
            self.user = pwd.getpwnam("postgres")
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        options = ["-A", "trust", "-U", "me", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run(program("initdb"), "-D", str(self.folder / "data"), *options).wait(60)

    @property
    def url(self) -> str:
        return f"postgresql://me@127.0.0.1:{self.port}/postgres"

    def start(self) -> "PostgresServer":
        self.process = self._run(
            program("postgres"), "-D", str(self.folder / "data"), "-p", str(self.port),
            "-h", "127.0.0.1", "-k", str(self.folder), "-c", "log_min_messages=fatal",
        )  # fmt: skip
        deadline = time.monotonic() + START
        while not self._answers():
            assert self.process.poll() is None, self._log()
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.05)
        return self

    def pause(self) -> None:
        """The server and those of its processes that serve connections."""
        _tell(self._family(), signal.SIGSTOP)

    def go_on(self) -> None:
        _tell(self._family(), signal.SIGCONT)

    def kill(self) -> None:
        """As a power cut would: nothing is said or saved."""
        assert self.process is not None
        _tell(reversed(self._family()), signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """At once, and in order."""
        if self.process is not None:
            self.go_on()
            self.process.send_signal(signal.SIGINT)
            self.process.wait(START)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def _family(self) -> list[int]:
        assert self.process is not None
        own = self.process.pid
        children = Path(f"/proc/{own}/task/{own}/children").read_text(encoding="utf-8")
        return [own, *map(int, children.split())]

    def _run(self, *command: str | None) -> subprocess.Popen[Any]:
        words = [word for word in command if word is not None]
        who: dict[str, Any] = {}
        if self.user:
            who = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, cwd=self.folder, **who)

    def _answers(self) -> bool:
        command = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run([word for word in command if word], check=False).returncode == 0

    def _log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


def _tell(pids: Iterable[int], what: signal.Signals) -> None:
    """One that serves a connection may just have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)
