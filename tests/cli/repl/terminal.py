"""A person at a terminal: keys go in, and what the program shows is waited for."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE = 60.0
CTRL_C, CTRL_D, UP, ALT_ENTER, TAB = "\x03", "\x04", "\x1b[A", "\x1b\r", "\t"
_PROMPT = "\x1b[?2004h"
"""The line editor asks for pastes to be marked, once a prompt."""
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07")


def plain(shown: str) -> str:
    """Without colours and movements of the cursor."""
    return _CODES.sub("", shown).replace("\r", "")


class Terminal:
    """A program in a terminal of its own."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 100,
        lines: int = 40,
    ) -> None:
        self._ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

        def own_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm-256color", **env},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
            preexec_fn=own_terminal,
        )
        self._its = its
        self.raw = ""
        self._seen = 0
        self._bytes = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.hang_up()

    def keys(self, text: str) -> None:
        """Press keys, as many as the terminal takes at a time."""
        data = text.encode()
        while data:
            self._read(0.0)
            _, writable, _ = select.select([], [self._ours], [], 1.0)
            if writable:
                data = data[os.write(self._ours, data[:1024]) :]

    def line(self, text: str) -> None:
        self.keys(text + "\r")

    def paste(self, text: str) -> None:
        """As terminals do it for programs that ask for it."""
        self.keys(f"\x1b[200~{text}\x1b[201~")

    def until(self, text: str) -> str:
        """Wait for a text; all that was shown since the last wait, without codes."""
        return self._wait(text, plain)

    def prompt(self) -> str:
        """Wait for the next prompt; all that was shown since the last wait, without codes."""
        return plain(self._wait(_PROMPT, str))

    def _wait(self, text: str, seen: Callable[[str], str]) -> str:
        deadline = time.monotonic() + PATIENCE
        while True:
            new = self.raw[self._seen :]
            if text in seen(new):
                # No further than the text: what follows it may be what is waited for next.
                end = bisect_left(range(len(new) + 1), True, key=lambda n: text in seen(new[:n]))
                self._seen += end
                return seen(new[:end])
            if time.monotonic() > deadline or not self._read(0.2):
                shown = seen(self.raw[self._seen :])
                assert text in shown, f"{text!r} is not in:\n{shown}"

    def ends(self) -> int:
        """Wait for the program to end; its exit code."""
        if self._ours < 0:
            return self.process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.1)
        while self.process.poll() is not None and self._read(0.0):
            pass
        return self.process.wait(0)

    def hang_up(self) -> None:
        """Take the terminal away, as closing its window does."""
        for fd in (self._its, self._ours):
            if fd >= 0:
                os.close(fd)
        self._its = self._ours = -1

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self._its)[3] & termios.ECHO)

    def _read(self, wait: float) -> bool:
        """Take what there is; False where there will be nothing more."""
        ready, _, _ = select.select([self._ours], [], [], wait)
        if not ready:
            return self.process.poll() is None
        self._bytes += os.read(self._ours, 65536)
        try:
            text, self._bytes = self._bytes.decode(), b""
        except UnicodeDecodeError as error:
            text = self._bytes[: error.start].decode()
            self._bytes = self._bytes[error.start :]
        self.raw += text
        return True
