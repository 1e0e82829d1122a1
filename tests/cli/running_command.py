"""Commands that go on until somebody ends them, and what they have said so far."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.command import SCRIPT

PATIENCE = 60.0


def await_(done: Callable[[], object], why: Callable[[], str] = str) -> None:
    """Look until it is so; after a long time it is a failure."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, why()
        time.sleep(0.02)


class Running:
    """A command in a process of its own, with its output in files."""

    def __init__(self, cwd: Path, folder: Path, *command: str, env: Mapping[str, str]) -> None:
        self.files = [folder / f"{len(list(folder.iterdir()))}-{name}" for name in ("out", "err")]
        with self.files[0].open("wb") as out, self.files[1].open("wb") as err:
            self.process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # Who runs the tests in the background has it ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    @property
    def out(self) -> str:
        return self.files[0].read_text("utf-8")

    @property
    def err(self) -> str:
        return self.files[1].read_text("utf-8")

    def until(self, words: str, count: int = 1) -> None:
        """It has said that, on either stream."""
        await_(
            lambda: (self.out + self.err).count(words) >= count,
            lambda: f"{words!r} is not in {self.out[-2000:]!r} {self.err[-2000:]!r}",
        )

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def running(
    cwd: Path, folder: Path, *args: str, env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """`cortext ARGS`, which is ended at the end."""
    folder.mkdir(exist_ok=True)
    command = args if args[0].startswith("/") else (SCRIPT, *args)
    made = Running(cwd, folder, *command, env=env or {})
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.process.wait(PATIENCE)
