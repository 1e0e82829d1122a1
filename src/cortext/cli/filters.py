"""The options that say which conversations a list holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.app.conversations import Wanted
from cortext.cli.options import Since, all_option

F = TypeVar("F", bound=Callable[..., Any])
_STATUSES = ["active", "paused", "completed", "interrupted"]


def filters(command: F) -> F:
    """The options that say which conversations a list holds."""
    options = (
        all_option,
        click.option("--type", "kind", metavar="TYPE", help="Only of this type."),
        click.option(
            "--status",
            type=click.Choice(_STATUSES, case_sensitive=False),
            help="Only with this status.",
        ),
        click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable."),
        click.option(
            "--since", type=Since(), help="Only those active since: 2026-01-31, yesterday, 7d, 3mo."
        ),
        click.option(
            "-n", "--limit", "limit", type=click.IntRange(min=1), help="At most this many."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def wanted(
    kind: str | None,
    status: str | None,
    tags: tuple[str, ...],
    since: int | None,
    **more: Any,
) -> Wanted:
    # `aur` says interrupted where we say paused.
    word = "paused" if status == "interrupted" else status
    return Wanted(kind=kind, status=word, tags=tags, since=since, **more)
