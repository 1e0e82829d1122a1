"""A progress bar, which appears only if the work takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from cortext.cli.terminal_text import cells, cut_to_terminal
from cortext.cli.views.bar_chart import bar, can_draw

_SHOW_AFTER = 1.0
_REDRAW_AFTER = 0.1
_BAR_WIDTH = 30


class ProgressBar:
    """A progress bar on stderr with a label. If stderr is not a terminal, nothing is printed."""

    def __init__(self, what: str) -> None:
        self._label = what
        self._start, self._last = time.monotonic(), 0.0
        self._drawn_width = 0

    @property
    def progress(self) -> Callable[[int, int], None] | None:
        """A callback that draws the bar, or None if stderr is not a terminal.

        The callback gets two numbers: the finished work and the total work.
        """
        return self._draw if sys.stderr.isatty() else None

    def begin(self, words: str) -> None:
        """Show a text in place of the bar while the total work is not known yet."""
        if sys.stderr.isatty():
            self._write(words)

    def _draw(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._start < _SHOW_AFTER or now - self._last < _REDRAW_AFTER or not total:
            return

        self._last = now
        drawn = bar(done, total, _BAR_WIDTH, blocks=can_draw(sys.stderr.encoding))
        self._write(f"{drawn} {self._label}: {done:,} of {total:,}")

    def _write(self, words: str) -> None:
        line = cut_to_terminal(words, err=True)
        rest = " " * (self._drawn_width - cells(line))
        self._drawn_width = max(self._drawn_width, cells(line))
        sys.stderr.write(f"\r{line}{rest}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self._drawn_width:
            sys.stderr.write("\r" + " " * self._drawn_width + "\r")
            sys.stderr.flush()
