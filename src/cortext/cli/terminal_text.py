"""Text as a person sees it in a terminal."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from cortext.model.safe_text import clean as clean

_FEW = 5


def can_ask() -> bool:
    """Return whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(text: str) -> None:
    """Write data to stdout, for a person or a program."""
    sys.stdout.write(f"{text}\n")


def say(text: str) -> None:
    """Write a message for the person to stderr, without terminal codes.

    If nobody reads stderr any more, discard messages from now on: stdout may still have a reader.
    """
    try:
        sys.stderr.write(f"{clean(text)}\n")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say_damaged(notes: Sequence[str]) -> None:
    """Print warnings about the first few damaged files, and the number of the others."""
    for note in notes[:_FEW]:
        say(f"warning: {clean(note, lines=False)}")
    if left := len(notes[_FEW:]):
        say(f"warning: {left} more {'is' if left == 1 else 'are'} damaged (`cortext doctor`)")


def one_line(text: str) -> str:
    """Return a text on one line, as `clean` does, but keep all spaces so that columns align."""
    return clean(text.replace("\n", " ").replace("\t", " "))


def spawn() -> str:
    """Return the command that the user typed for `spawn`."""
    return "aur spawn" if sys.argv[0].rpartition("/")[2] == "aur" else "cortext spawn"


def local(when: datetime) -> str:
    """Return a time in the local time zone, to the minute."""
    try:
        when = when.astimezone()
    except OverflowError:
        pass  # the last possible day, in a time zone where it is already tomorrow
    return when.isoformat(" ", "minutes")[:16]


def to_edge(line: str, *, err: bool = False) -> str:
    """Cut a line at the edge of the terminal. Without a terminal, return the line unchanged."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return line
    import shutil

    width = shutil.get_terminal_size().columns
    return line if cells(line) <= width else fit(line, width)


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fit(text: str, width: int) -> str:
    """Return a text in exactly `width` columns, cut or padded with spaces."""
    taken = cells(text)
    if taken <= width:
        return text + " " * (width - taken)
    kept, taken = "", 1
    for character in text:
        taken += _width(character)
        if taken > width:
            break
        kept += character
    return kept + "…" + " " * (width - 1 - cells(kept))


def _width(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
