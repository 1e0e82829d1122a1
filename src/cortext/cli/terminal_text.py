"""Print text for the user, measure how wide it is in a terminal, and cut it to fit."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from cortext.model.safe_text import clean as clean

_MAX_WARNINGS = 5


def can_ask() -> bool:
    """Return whether the command can ask the user a question: stdin and stderr are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(text: str) -> None:
    """Write the result of a command to stdout, for the user or for another program."""
    sys.stdout.write(f"{text}\n")


def say(text: str) -> None:
    """Write a message for the user to stderr, without terminal control codes.

    If stderr is a closed pipe, drop this and all later messages without an error, because stdout
    may still be open.
    """
    try:
        sys.stderr.write(f"{clean(text)}\n")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say_damaged(notes: Sequence[str]) -> None:
    """Print the first warnings about damaged files, and the number of the others."""
    for note in notes[:_MAX_WARNINGS]:
        say(f"warning: {clean(note, lines=False)}")
    if left := len(notes[_MAX_WARNINGS:]):
        files = "1 more file is" if left == 1 else f"{left} more files are"
        say(f"warning: {files} damaged (`cortext doctor` shows details)")


def one_line(text: str) -> str:
    """Return a text on one line, without control characters.

    Unlike `clean`, this keeps all spaces, so that columns stay aligned.
    """
    return clean(text.replace("\n", " ").replace("\t", " "))


def spawn() -> str:
    """Return the command that the user typed to run this program: `cortext spawn` or `aur spawn`.

    Messages use it to suggest further commands.
    """
    return "aur spawn" if sys.argv[0].rpartition("/")[2] == "aur" else "cortext spawn"


def local(when: datetime) -> str:
    """Return a time in the local time zone, as `2026-01-31 14:05`."""
    try:
        when = when.astimezone()
    except OverflowError:
        pass  # the last possible day, in a time zone where it is already tomorrow
    return when.isoformat(" ", "minutes")[:16]


def cut_to_terminal(line: str, *, err: bool = False) -> str:
    """Return a line, cut to the width of the terminal.

    With `err`, the line is for stderr, and otherwise for stdout. If this stream is not a terminal,
    return the line unchanged.
    """
    if not (sys.stderr if err else sys.stdout).isatty():
        return line
    import shutil

    width = shutil.get_terminal_size().columns
    return line if cells(line) <= width else fit(line, width)


def cells(text: str) -> int:
    """Return how many columns of a terminal a text needs."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def fit(text: str, width: int) -> str:
    """Return a text in exactly `width` columns, padded with spaces or cut with `…`."""
    used = cells(text)
    if used <= width:
        return text + " " * (width - used)
    shown, used = "", 1
    for character in text:
        used += _character_width(character)
        if used > width:
            break
        shown += character
    return shown + "…" + " " * (width - 1 - cells(shown))


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
