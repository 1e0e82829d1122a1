"""Asking before something is done that a person may regret."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.errors import CortextError

F = TypeVar("F", bound=Callable[..., Any])


def yes_option(command: F) -> F:
    return click.option("-y", "--yes", is_flag=True, help="Do it without asking.")(command)


def agree(question: str, yes: bool) -> None:
    """Go on only with a yes: from the person, or by `--yes` where there is none to ask."""
    if yes:
        return
    from cortext.cli.choose import can_ask

    if not can_ask():
        raise CortextError("nothing was done: there is nobody to ask", hint="`--yes` answers")
    if not click.confirm(question, err=True):
        click.echo("nothing was done", err=True)
        raise click.exceptions.Exit(1)


def expire() -> None:
    """Let what has been in the trash for long go, and say so."""
    from cortext import paths
    from cortext.app.trash import empty
    from cortext.config import Config

    if not os.path.isdir(paths.trash()):
        return
    days = Config.load(paths.workspace_root())["trash.days"]
    gone = empty(older_than_days=float(days)) if days else []
    if gone:
        click.echo(f"{len(gone)} left the trash for good, after {days} days", err=True)
