"""A progress bar, which appears only if the work takes longer than a second."""

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
    """A progress bar on stderr. If stderr is not a terminal, nothing is printed."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began, self._last = time.monotonic(), 0.0
        self._drawn = 0

    @property
    def progress(self) -> Callable[[int, int], None] | None:
        """A callback that draws the bar; None if stderr is not a terminal.

        Its arguments are the amount of finished work and the amount of all work.
        """
        return self._draw if sys.stderr.isatty() else None

    def begin(self, words: str) -> None:
        """Show a text in place of the bar, while the amount of work is unknown."""
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
        """Remove the bar from the terminal."""
        if self._drawn:
            sys.stderr.write("\r" + " " * self._drawn + "\r")
            sys.stderr.flush()
