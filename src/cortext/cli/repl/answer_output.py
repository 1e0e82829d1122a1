"""The display of an agent's answer while it arrives.

On a terminal the raw text is printed first. Each finished block of markdown is then replaced by its
rendered form, if the whole block is still on the screen. With NO_COLOR the text stays raw. Without
a terminal the text is written unchanged.

Text for a terminal is cleaned, so that nothing in an answer can move the cursor. The session file
stores the answer unchanged.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from cortext.cli.repl.markdown_blocks import Blocks, rows
from cortext.cli.terminal_text import clean
from cortext.cli.views.page_render import ConversationPage, PageBlock, rendered

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAB = " " * 4


class StreamedAnswer(Protocol):
    """The display of one answer: `write` shows a piece of it, `end` completes it.

    An answer for which `end` is never called was interrupted.
    """

    def write(self, piece: str) -> None: ...
    def end(self) -> None: ...


def is_screen() -> bool:
    """Return whether stdout is a terminal that supports cursor movement."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@contextmanager
def showing(who: str) -> Generator[StreamedAnswer]:
    """Return a context manager that displays an answer while it arrives.

    On a terminal a spinner with the name `who` moves until the first text arrives. Keys that the
    user types meanwhile stay hidden until the next prompt.
    """
    if not is_screen():
        answer = _Verbatim(cleaned=sys.stdout.isatty())
        try:
            yield answer
        finally:
            answer.close()
        return
    shown = _Screen(who, render=not os.environ.get("NO_COLOR"))
    with _without_echo():
        try:
            yield shown
        finally:
            shown.close()


class _Verbatim:
    """The display without cursor movement: the text of the answer, and a newline at its end.

    With `cleaned`, control characters are removed.
    """

    def __init__(self, *, cleaned: bool) -> None:
        self._cleaned = cleaned
        self._last = "\n"

    def write(self, piece: str) -> None:
        if piece:
            _out(clean(piece) if self._cleaned else piece)
            self._last = piece[-1]

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        if self._last != "\n":
            _out("\n")
            self._last = "\n"


class _Screen:
    """The display on a terminal, with a spinner. With `render`, markdown is rendered."""

    def __init__(self, who: str, *, render: bool) -> None:
        self._spinner = _Spinner(clean(who, lines=False))
        self._render = render
        self._blocks = Blocks()
        self._block = ""
        self._size = screen_size()
        self._tall = False
        """Whether the current block of markdown is longer than the screen."""
        self._held = self._last = ""

    def write(self, piece: str) -> None:
        piece = self._held + piece
        # A \r may be the first half of \r\n, so it waits for the next piece.
        self._held = "\r" if piece.endswith("\r") else ""
        piece = clean(piece.removesuffix("\r").replace("\r\n", "\n")).replace("\t", _TAB)
        if not piece:
            return
        self._spinner.stop()
        for part, ended in self._blocks.feed(piece):
            if ended:
                self._finish()
            _out(part)
            self._remember(part)

    def end(self) -> None:
        self.close()
        self._finish()
        _out("\n")

    def close(self) -> None:
        """Stop the spinner, and move the cursor to the start of a line."""
        self._spinner.stop()
        if self._last not in ("", "\n"):
            _out("\n")
            self._remember("\n")

    def _remember(self, part: str) -> None:
        self._last = part[-1]
        if not self._tall:
            self._block += part
            columns, lines = self._size
            self._tall = len(self._block) > columns * lines

    def _finish(self) -> None:
        """Replace the finished raw block on the screen by its rendered form.

        Keep the raw block if part of it scrolled off the screen, or if the terminal was resized.
        """
        block, size, tall = self._block, self._size, self._tall
        self._block, self._size, self._tall = "", screen_size(), False
        if tall or not (self._render and block.strip()) or size != self._size:
            return
        columns, lines = size
        taken = rows(block, columns)
        if taken is None or taken >= lines:
            return
        drawn = _rendered(block.strip("\n"), columns)
        if drawn:
            before = "\n" if block.startswith("\n") else ""
            after = "\n\n" if block.endswith("\n\n") else "\n"
            _out(f"\x1b[{taken}A\r\x1b[J{before}{drawn}{after}")


class _Spinner:
    """An animated character and a name, on a line of their own, until `stop` is called."""

    def __init__(self, who: str) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._spin, args=(who,), daemon=True)
        self._thread.start()

    def _spin(self, who: str) -> None:
        number = 0
        while not self._stopped.wait(0.1):
            _out(f"\r{_FRAMES[number % len(_FRAMES)]} {who}")
            number += 1
        if number:
            _out("\r\x1b[K")

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()


def _rendered(text: str, columns: int) -> str:
    parts = rendered(
        ConversationPage("", (), [PageBlock("", "assistant", text, markdown=True)]),
        width=columns,
        colour=True,
    )
    next(parts)  # skip the title, because an answer has none
    return "".join(parts).strip("\n")


def screen_size() -> tuple[int, int]:
    """Return the columns and lines of the terminal, or 80 and 24 without a terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return 80, 24


def _out(text: str) -> None:
    encoding = sys.stdout.encoding
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


@contextmanager
def _without_echo() -> Generator[None]:
    """Hide the keys that the user types while an answer is shown.

    The terminal is set to read single keys: in line mode it would lose Ctrl+D and text beyond 4 KB.
    """
    if not sys.stdin.isatty():
        yield
        return
    import termios

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
