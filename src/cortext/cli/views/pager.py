"""Showing long text in a pager such as `less`, one screen at a time."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from itertools import chain

import click


def can_page() -> bool:
    """Return whether stdout is a terminal and a pager is installed.

    A pager in a relative path is refused, because a workspace of another person may contain it.
    """
    if not (sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")):
        return False

    return os.path.isabs(shutil.which(_pager()) or "")


def is_long(lines: int) -> bool:
    """Return whether this many lines do not fit on the screen together with a prompt."""
    return lines >= shutil.get_terminal_size().lines


def page_through(lines: Iterable[str]) -> None:
    """Show the lines in the user's pager."""
    # As git does: keep colours, and do not page text that fits on the screen.
    os.environ.setdefault("LESS", "-FRX")
    # click itself finds out whether `less` shows colours.
    colour = None if os.path.basename(_pager()) == "less" else True
    rest = iter(lines)
    text = chain([next(rest, "")], (f"\n{line}" for line in rest))
    click.echo_via_pager(text, color=colour)


def encodable(line: str) -> str:
    """Return a line in which `?` replaces characters that the terminal's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    return line.encode(encoding, "replace").decode(encoding)


def _pager() -> str:
    try:
        return next(iter(shlex.split(os.environ.get("PAGER", ""))), "less")
    except ValueError:
        return ""
