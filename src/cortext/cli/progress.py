"""A bar for a person who waits, where it takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from cortext.cli.terminal_text import cells, to_edge
from cortext.cli.views.bar_chart import bar, can_draw

_SOON = 1.0
_OFTEN = 0.1
_WIDTH = 30


class ProgressBar:
    """How far something is, on a terminal; elsewhere nothing."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began, self._last = time.monotonic(), 0.0
        self._drawn = 0

    @property
    def progress(self) -> Callable[[int, int], None] | None:
        """What is to be told how much is done, and of how much; None if nobody sees it."""
        return self._draw if sys.stderr.isatty() else None

    def begin(self, words: str) -> None:
        """Say what is waited for, where some of it cannot be counted."""
        if sys.stderr.isatty():
            self._write(words)

    def _draw(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._began < _SOON or now - self._last < _OFTEN or not of:
            return

        self._last = now
        drawn = bar(done, of, _WIDTH, blocks=can_draw(sys.stderr.encoding))
        self._write(f"{drawn} {self._what}: {done:,} of {of:,}")

    def _write(self, words: str) -> None:
        line = to_edge(words, err=True)
        rest = " " * (self._drawn - cells(line))
        self._drawn = max(self._drawn, cells(line))
        sys.stderr.write(f"\r{line}{rest}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave nothing of it."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
