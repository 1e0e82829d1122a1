"""strace: which calls a verb makes, and the same verb with one of them failing."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults import verbs

CALLS = (
    *("openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2"),
    *("link", "linkat", "unlink", "unlinkat", "rmdir", "ftruncate", "mkdir", "mkdirat", "flock"),
)
MARKS = ("access", "faccessat", "faccessat2")
KILL = "signal=SIGKILL"
ERRORS = ("error=EIO", "error=ENOSPC", "error=EINTR")

_LINE = re.compile(rb"^(?:\d+ +)?(\w+)\((?:[^\"]*\"([^\"]*)\")?")
_PATHS = os.pathsep.join(path for path in sys.path if path)


class Fault(NamedTuple):
    """What goes wrong: the verb's `number`-th `call`."""

    call: str
    number: int
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.call} {self.number}"


class Outcome(NamedTuple):
    """How the verb ended, and whether the fault happened at all."""

    said: str
    stderr: str
    killed: bool
    fired: bool


class Runner:
    """Runs verbs under strace. One process has all the imports done and is forked for each."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._out, self._err, self._trace = home / "out", home / "err", home / "trace"
        self._process = subprocess.Popen(
            [sys.executable, verbs.__file__, self._out, self._err],
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=60)

    def record(self, words: list[str], folder: Path) -> tuple[dict[str, list[int]], str]:
        """For each call, the numbers it has in the verb, and what the verb said."""
        wanted = ",".join(f"?{name}" for name in (*CALLS, *MARKS))
        outcome = self._run(words, f"trace={wanted}")
        count: Counter[str] = Counter()
        found: dict[str, list[int]] = {}
        for line in self._trace.read_bytes().splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            name, path = match[1].decode(), (match[2] or b"").decode(errors="replace")
            count[name] += 1
            if _ours(name, path, folder):
                found.setdefault(name, []).append(count[name])
            if path == verbs.MARK:
                break
        return found, outcome.said or outcome.stderr

    def run(self, words: list[str], fault: Fault) -> Outcome:
        """The verb, with the fault."""
        what = f"inject={fault.call}:{fault.kind}:when={fault.number}"
        outcome = self._run(words, f"trace={fault.call}", what)
        injected = b"(INJECTED)" in self._trace.read_bytes()
        return outcome._replace(fired=outcome.killed if fault.kind == KILL else injected)

    def _run(self, words: list[str], *expressions: str) -> Outcome:
        pid = int(self._ask(" ".join(words)))
        try:
            self._trace_it(pid, expressions)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        killed = int(self._ask("")) == -signal.SIGKILL
        return Outcome(self._out.read_text(), self._err.read_text(), killed, fired=False)

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def _trace_it(self, pid: int, expressions: tuple[str, ...]) -> None:
        options = [word for expression in expressions for word in ("-e", expression)]
        with subprocess.Popen(
            ["strace", "-f", "-o", self._trace, *options, "-p", str(pid)],
            stderr=subprocess.PIPE,
            text=True,
        ) as tracer:
            assert tracer.stderr is not None
            try:
                first = tracer.stderr.readline()
                if "not permitted" in first:
                    pytest.skip(f"kernel: {first.strip()}")
                assert "attached" in first
                os.kill(pid, signal.SIGCONT)
                tracer.wait(timeout=60)
            finally:
                tracer.kill()


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": _PATHS,
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
    }


def _ours(name: str, path: str, folder: Path) -> bool:
    """Modules and /proc are opened too; only files of the store count."""
    return name != "openat" or not path.startswith("/") or path.startswith(str(folder))
