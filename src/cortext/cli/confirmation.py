"""Ask the user for confirmation before a risky action, and delete old entries of the trash."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext import paths
from cortext.cli.terminal_text import can_ask
from cortext.cli.views.bar_chart import counted
from cortext.config import Config
from cortext.errors import CortextError
from cortext.features.manage.trash import empty

F = TypeVar("F", bound=Callable[..., Any])
NOBODY_TO_ASK = "confirmation needed, but this is not a terminal"


def yes_option(command: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")(command)


def agree(question: str, yes: bool) -> None:
    """Ask the user a yes-or-no question, and return if the user agrees.

    If the user declines, exit with code 1. `yes` is the value of the option `--yes`: if it is True,
    return without a question. Raises CortextError if there is no terminal.
    """
    if yes:
        return

    if not can_ask():
        raise CortextError(NOBODY_TO_ASK, hint="run the command again with --yes")
    if not click.confirm(question, err=True):
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)


def expire() -> None:
    """Delete trash entries that are too old, and print how many were deleted.

    The setting `trash.days` is the maximum age in days. If it is 0, nothing is deleted.
    """
    if not os.path.isdir(paths.trash()):
        return
    days = Config.load(paths.workspace_root())["trash.days"]
    removed = empty(older_than_days=float(days)) if days else []
    if removed:
        items, span = counted(len(removed), "item"), counted(days, "day")
        click.echo(f"Permanently removed {items} from the trash after {span}.", err=True)
