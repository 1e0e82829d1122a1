"""Long text in a terminal, a screen at a time."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from itertools import chain

import click


def can_page() -> bool:
    """Whether somebody sits at a terminal that can be paged through, and the pager is an installed
    program: one that is found from the current folder may have come with somebody's workspace."""
    if not (sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")):
        return False

    return os.path.isabs(shutil.which(_pager()) or "")


def is_long(lines: int) -> bool:
    """Whether so many lines leave no room for a prompt."""
    return lines >= shutil.get_terminal_size().lines


def page_through(lines: Iterable[str]) -> None:
    """Show them with the pager."""
    # As git has it: colours stay, and what fits on the screen is not paged.
    os.environ.setdefault("LESS", "-FRX")
    # click finds out whether `less` shows colours.
    colour = None if os.path.basename(_pager()) == "less" else True
    rest = iter(lines)
    text = chain([next(rest, "")], (f"\n{line}" for line in rest))
    click.echo_via_pager(text, color=colour)


def encodable(line: str) -> str:
    """What the terminal has no character for becomes a question mark, and no error."""
    encoding = sys.stdout.encoding or "utf-8"
    return line.encode(encoding, "replace").decode(encoding)


def _pager() -> str:
    try:
        return next(iter(shlex.split(os.environ.get("PAGER", ""))), "less")
    except ValueError:
        return ""
