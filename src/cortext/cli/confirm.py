"""Confirmation before a command does something that the user may regret."""

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
    return click.option("-y", "--yes", is_flag=True, help="Do it without asking.")(command)


def agree(question: str, yes: bool) -> None:
    """Ask the user the question, and return only if the user agrees.

    With `yes`, which is the option `--yes`, return without asking. Exit with 1 if the user
    declines. Raises CortextError if there is no terminal to ask on.
    """
    if yes:
        return

    if not can_ask():
        raise CortextError(NOBODY_TO_ASK, hint="run it again with --yes")
    if not click.confirm(question, err=True):
        click.echo("nothing was done", err=True)
        raise click.exceptions.Exit(1)


def expire() -> None:
    """Delete trash entries that are older than the setting `trash.days`, and print how many."""
    if not os.path.isdir(paths.trash()):
        return
    days = Config.load(paths.workspace_root())["trash.days"]
    gone = empty(older_than_days=float(days)) if days else []
    if gone:
        span = counted(days, "day")
        click.echo(f"{len(gone)} left the trash for good, after {span}", err=True)
