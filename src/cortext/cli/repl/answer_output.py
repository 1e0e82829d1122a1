"""What an agent answers, shown as it comes. The file keeps the answer as it was; here nothing in
it may move the cursor.

On a terminal the raw text streams, and each block of markdown that is finished, and still whole on
the screen, gives way to its rendered form. With NO_COLOR it stays raw. Where there is no terminal
it goes out as it came.
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
    """One answer on its way to the person. `end` is called when it is whole; leaving without it is
    an answer that was broken off."""

    def write(self, piece: str) -> None: ...
    def end(self) -> None: ...


def is_screen() -> bool:
    """Whether answers are shown on a terminal that can move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@contextmanager
def showing(who: str) -> Generator[StreamedAnswer]:
    """Show an answer. On a terminal something moves until its first byte, and what is typed
    meanwhile waits, unseen, for the next prompt."""
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
    """For programs: the bytes of the answer, and a newline at its end."""

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
    """For people."""

    def __init__(self, who: str, *, render: bool) -> None:
        self._spinner = _Spinner(clean(who, lines=False))
        self._render = render
        self._blocks = Blocks()
        self._block = ""
        self._size = screen_size()
        self._tall = False
        """Whether the block is more than a screen holds."""
        self._held = self._last = ""

    def write(self, piece: str) -> None:
        piece = self._held + piece
        # Half of a line's end waits for the other half.
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
        """The cursor at the beginning of a line, with nothing moving on it."""
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
        """Draw the block anew, if it was not scrolled away or folded by another width."""
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
    """One character that moves, on a line of its own, until it is stopped."""

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
    next(parts)  # the title, of which an answer has none
    return "".join(parts).strip("\n")


def screen_size() -> tuple[int, int]:
    """Columns and lines."""
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
    """What is typed while an answer comes would stand in the middle of it. It waits key by key, as
    it does at a prompt: lines would lose Ctrl+D, and what they have beyond 4 KB."""
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
