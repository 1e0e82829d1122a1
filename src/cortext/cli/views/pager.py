"""Show long text in a pager such as `less`, one screen at a time."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from itertools import chain

import click


def can_page() -> bool:
    """Return whether stdout is a terminal and a pager is installed.

    A pager with a relative path does not count, because it may be a program that another person
    put into the current folder.
    """
    if not (sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")):
        return False
    import shutil

    return os.path.isabs(shutil.which(_pager()) or "")


def is_long(lines: int) -> bool:
    """Return whether `lines` lines are too many for a screen that also shows a prompt."""
    import shutil

    return lines >= shutil.get_terminal_size().lines


def page_through(lines: Iterable[str], *, first_line: int = 1) -> None:
    """Show the lines in the user's pager.

    The pager `less` opens at line number `first_line`, unless all lines fit on the screen.
    """
    # Use the options of git: keep colours, and exit at once if the text fits on the screen.
    os.environ.setdefault("LESS", "-FRX")
    if first_line > 1:
        lines = list(lines)
        if is_long(sum(line.count("\n") + 1 for line in lines)):
            _add_pager_argument(f"+{first_line}g")
    # For `less`, click itself decides whether to send colours.
    colour = None if os.path.basename(_pager()) == "less" else True
    remaining = iter(lines)
    text = chain([next(remaining, "")], (f"\n{line}" for line in remaining))
    click.echo_via_pager(text, color=colour)


def _add_pager_argument(argument: str) -> None:
    """Add an argument to the command of the pager, if the pager is `less`.

    The variable LESS cannot be used for this purpose. It may end with an option such as `-P`, and
    an added argument would then be part of the prompt.
    """
    if os.path.basename(_pager()) == "less":
        os.environ["PAGER"] = f"{os.environ.get('PAGER', '').strip() or 'less'} {argument}"


def encodable(line: str) -> str:
    """Return a line with `?` for each character that the terminal's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    return line.encode(encoding, "replace").decode(encoding)


def _pager() -> str:
    try:
        return next(iter(shlex.split(os.environ.get("PAGER", ""))), "less")
    except ValueError:
        return ""
