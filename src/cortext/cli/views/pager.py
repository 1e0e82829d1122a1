"""Long text in a terminal, one screen at a time."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from itertools import chain

import click


def can_page() -> bool:
    """Return whether there is a terminal and an installed pager.

    A pager found relative to the current folder is refused: it may come from someone else's
    workspace.
    """
    if not (sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")):
        return False

    return os.path.isabs(shutil.which(_pager()) or "")


def is_long(lines: int) -> bool:
    """Return whether this many lines leave no room for a prompt."""
    return lines >= shutil.get_terminal_size().lines


def page_through(lines: Iterable[str]) -> None:
    """Show the lines in the pager."""
    # As git does: keep colours, and do not page text that fits on the screen.
    os.environ.setdefault("LESS", "-FRX")
    # click itself finds out whether `less` shows colours.
    colour = None if os.path.basename(_pager()) == "less" else True
    rest = iter(lines)
    text = chain([next(rest, "")], (f"\n{line}" for line in rest))
    click.echo_via_pager(text, color=colour)


def encodable(line: str) -> str:
    """Replace characters that the terminal's encoding lacks by question marks."""
    encoding = sys.stdout.encoding or "utf-8"
    return line.encode(encoding, "replace").decode(encoding)


def _pager() -> str:
    try:
        return next(iter(shlex.split(os.environ.get("PAGER", ""))), "less")
    except ValueError:
        return ""
