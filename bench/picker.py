"""(m) `cortext` alone: the picker over 10,000 conversations, from its start to the list on the
screen, and from a key to the list that it leaves."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress

from bench.lists import CORTEXT, make_workspace
from bench.starts import clean_environment

COUNT = 10_000
_PATIENCE = 60
_STILL = 0.6
"""Seconds without a change, after which nothing goes on any more."""
_FIRST = f"Topic {COUNT - 1} about".encode()


class Screen:
    """The picker in a terminal of 120x40."""

    def __init__(self, root: str, env: dict[str, str]) -> None:
        self._fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._seen = b""
        self._began = time.perf_counter()
        self._child = subprocess.Popen(
            [CORTEXT], cwd=root, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def until_shown(self) -> float:
        """Seconds from its start to the list on the screen."""
        self._read_until(_FIRST)
        return time.perf_counter() - self._began

    def press(self, key: str) -> float:
        """Seconds from a key to the list for it: how many of how many they are is drawn with it."""
        self._rest()
        self._seen, began = b"", time.perf_counter()
        os.write(self._fd, key.encode())
        self._read_until(f" of {COUNT + 1:,}".encode())
        return time.perf_counter() - began

    def close(self) -> None:
        os.write(self._fd, b"\x03")
        with suppress(OSError):  # the other side was closed
            while os.read(self._fd, 65536):
                pass
        os.close(self._fd)
        if self._child.wait(_PATIENCE):
            raise SystemExit(f"the picker failed with {self._child.returncode}")

    def _rest(self) -> None:
        """Let it finish what the last key began: this is not what a person waits for."""
        while select.select([self._fd], [], [], _STILL)[0]:
            os.read(self._fd, 65536)

    def _read_until(self, what: bytes) -> None:
        end = time.monotonic() + _PATIENCE
        while what not in self._seen:
            if time.monotonic() > end or self._child.poll() is not None:
                self._child.kill()
                raise SystemExit(f"the picker never showed {what!r}: {self._seen[-500:]!r}")
            if select.select([self._fd], [], [], 1)[0]:
                self._seen += os.read(self._fd, 65536)


def times(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds of a bare start and of the first paint, taken in turns; and of a key."""
    root = f"{folder}/workspace"
    os.makedirs(f"{root}/.workspace")
    make_workspace(root, COUNT)
    names = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    env = {**clean_environment(), **{name: f"{folder}/{name.lower()}" for name in names}}
    env["TERM"] = "xterm-256color"
    env.pop("CI", None)
    os.makedirs(env["HOME"])
    # The catalog and the index of words are made once, and by nobody who waits for a screen.
    for words in (["list"], ["list"], ["search", "message"]):
        subprocess.run([CORTEXT, *words], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
    found: dict[str, list[float]] = {"bare": [], "paint": [], "key": []}
    for number in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
        found["bare"].append(time.perf_counter() - began)
        screen = Screen(root, env)
        found["paint"].append(screen.until_shown())
        if number < 3:
            found["key"] += [screen.press(key) for key in ("9", "8", "7", "\x7f", "\x7f")]
        screen.close()
    return {name: statistics.median(spent) for name, spent in found.items()}


def in_child(folder: str, rounds: int) -> dict[str, float]:
    """All of it, from a process of its own."""
    command = [sys.executable, "-m", "bench.picker", folder, str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(times(sys.argv[1], int(sys.argv[2]))))
