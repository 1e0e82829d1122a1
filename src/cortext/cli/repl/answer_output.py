"""Display an agent's answer while it arrives.

On a terminal, the raw text is printed first. When a block of markdown is complete, its rendered
form replaces the raw text, if the whole block is still on the screen. With NO_COLOR, the text stays
raw. Without a terminal, the text is written unchanged.

Control codes are removed from text for a terminal, so that an answer cannot move the cursor. The
session file stores the answer unchanged.
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
from cortext.cli.views.conversation_render import ConversationPage, PageBlock, rendered

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAB = " " * 4


class StreamedAnswer(Protocol):
    """The display of one answer that arrives in pieces.

    Call `write` for each piece, and `end` after the last piece. Do not call `end` if the answer was
    interrupted.
    """

    def write(self, piece: str) -> None: ...
    def end(self) -> None: ...


def is_screen() -> bool:
    """Return whether stdout is a terminal that can move the cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@contextmanager
def showing(who: str) -> Generator[StreamedAnswer]:
    """Yield the display for an answer, and clean up when the `with` block ends.

    On a terminal, show a spinner with the name `who` until the first text arrives. Hide the keys
    that the user types during the answer; the next prompt shows them.
    """
    if not is_screen():
        answer = _PlainDisplay(cleaned=sys.stdout.isatty())
        try:
            yield answer
        finally:
            answer.close()
        return
    display = _ScreenDisplay(who, render=not os.environ.get("NO_COLOR"))
    with _hide_typed_keys():
        try:
            yield display
        finally:
            display.close()


class _PlainDisplay:
    """A display that only prints the text of an answer.

    If the answer does not end with a newline, the display adds one. With `cleaned`, it removes
    control characters.
    """

    def __init__(self, *, cleaned: bool) -> None:
        self._cleaned = cleaned
        self._last_character = "\n"

    def write(self, piece: str) -> None:
        if piece:
            _write(clean(piece) if self._cleaned else piece)
            self._last_character = piece[-1]

    def end(self) -> None:
        self.close()

    def close(self) -> None:
        if self._last_character != "\n":
            _write("\n")
            self._last_character = "\n"


class _ScreenDisplay:
    """A display for a terminal, with a spinner. With `render`, it renders the markdown."""

    def __init__(self, who: str, *, render: bool) -> None:
        self._spinner = _Spinner(clean(who, lines=False))
        self._render = render
        self._blocks = Blocks()
        self._block = ""
        self._size = screen_size()
        self._is_tall = False
        """Whether the current block of markdown is longer than the screen."""
        self._pending = self._last_character = ""

    def write(self, piece: str) -> None:
        piece = self._pending + piece
        # A \r at the end may be the first half of \r\n, so keep it for the next piece.
        self._pending = "\r" if piece.endswith("\r") else ""
        piece = clean(piece.removesuffix("\r").replace("\r\n", "\n")).replace("\t", _TAB)
        if not piece:
            return
        self._spinner.stop()
        for part, ended in self._blocks.feed(piece):
            if ended:
                self._finish()
            _write(part)
            self._remember(part)

    def end(self) -> None:
        self.close()
        self._finish()
        _write("\n")

    def close(self) -> None:
        """Stop the spinner, and move the cursor to the start of a line."""
        self._spinner.stop()
        if self._last_character not in ("", "\n"):
            _write("\n")
            self._remember("\n")

    def _remember(self, part: str) -> None:
        self._last_character = part[-1]
        if not self._is_tall:
            self._block += part
            columns, lines = self._size
            self._is_tall = len(self._block) > columns * lines

    def _finish(self) -> None:
        """Replace the raw text of the finished markdown block on the screen by its rendered form.

        Keep the raw text if a part of it scrolled off the screen, or if the terminal was resized.
        """
        block, size, tall = self._block, self._size, self._is_tall
        self._block, self._size, self._is_tall = "", screen_size(), False
        if tall or not (self._render and block.strip()) or size != self._size:
            return
        columns, lines = size
        used = rows(block, columns)
        if used is None or used >= lines:
            return
        drawn = _render_markdown(block.strip("\n"), columns)
        if drawn:
            before = "\n" if block.startswith("\n") else ""
            after = "\n\n" if block.endswith("\n\n") else "\n"
            _write(f"\x1b[{used}A\r\x1b[J{before}{drawn}{after}")


class _Spinner:
    """An animated line with a moving character and a name. It disappears when `stop` is called."""

    def __init__(self, who: str) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._spin, args=(who,), daemon=True)
        self._thread.start()

    def _spin(self, who: str) -> None:
        number = 0
        while not self._stopped.wait(0.1):
            _write(f"\r{_FRAMES[number % len(_FRAMES)]} {who}")
            number += 1
        if number:
            _write("\r\x1b[K")

    def stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()


def _render_markdown(text: str, columns: int) -> str:
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


def _write(text: str) -> None:
    encoding = sys.stdout.encoding
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


@contextmanager
def _hide_typed_keys() -> Generator[None]:
    """Hide the keys that the user types during the `with` block.

    Switch the terminal from line mode to single keys. In line mode, the terminal would lose Ctrl+D,
    and all typed text after the first 4 KB.
    """
    if not sys.stdin.isatty():
        yield
        return
    import termios

    fd = sys.stdin.fileno()
    saved = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(fd, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, saved)
