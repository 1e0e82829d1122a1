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
    """Tell whether there is a person to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(text: str) -> None:
    """Data, for whoever reads it."""
    sys.stdout.write(f"{text}\n")


def say(text: str) -> None:
    """Talk, for the person; no terminal codes come with what it is about. Where nobody listens any
    more, whoever reads the data still gets it."""
    try:
        sys.stderr.write(f"{clean(text)}\n")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say_damaged(notes: Sequence[str]) -> None:
    """Warn of what is wrong with files: of the first few, and how many more there are."""
    for note in notes[:_FEW]:
        say(f"warning: {clean(note, lines=False)}")
    if left := len(notes[_FEW:]):
        say(f"warning: {left} more {'is' if left == 1 else 'are'} damaged (`cortext doctor`)")


def one_line(text: str) -> str:
    """As `clean` has it on one line, with all spaces: columns stay columns."""
    return clean(text.replace("\n", " ").replace("\t", " "))


def spawn() -> str:
    """The name by which `spawn` was called."""
    return "aur spawn" if sys.argv[0].rpartition("/")[2] == "aur" else "cortext spawn"


def local(when: datetime) -> str:
    """A time as the person's clock shows it."""
    try:
        when = when.astimezone()
    except OverflowError:
        pass  # the last day there is, in a zone where it is tomorrow already
    return when.isoformat(" ", "minutes")[:16]


def to_edge(line: str, *, err: bool = False) -> str:
    """A line that a terminal shows as one; where there is no terminal, it stays as it is."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return line
    import shutil

    width = shutil.get_terminal_size().columns
    return line if cells(line) <= width else fit(line, width)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fit(text: str, width: int) -> str:
    """A text in exactly that many columns: cut, or filled up with spaces."""
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
