"""What `cortext stats` says beside its numbers: what is not in them, and which one is meant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from cortext import paths
from cortext.cli.text import clean

if TYPE_CHECKING:
    from cortext.app.stats import Long, Stats


def say_not_counted(stats: Stats, *, everywhere: bool, since: int | None, kind: str | None) -> None:
    """Name the sessions of tools that belong to no conversation: someone may have only these."""
    from cortext.app.conversations import Conversations, Wanted

    wanted = Wanted(kind=kind, since=since)
    rows = Conversations(paths.workspace_root(), everywhere=everywhere).list(wanted).rows
    count = sum(bool(row.tool) for row in rows)
    if count:
        what = "1 session of AI tools is" if count == 1 else f"{count} sessions of AI tools are"
        click.echo(
            f"{what} not counted; `cortext import SESSION` makes a conversation of one", err=True
        )
    elif not stats.totals.conversations:
        click.echo('hint: begin one with `cortext new brainstorm "your topic"`', err=True)


def names_of(longest: list[Long]) -> list[str]:
    """The ids; where two are the same, with the day, or even the workspace."""
    ids = [long.id for long in longest]
    days = [long.address for long in longest]
    return [
        clean(
            long.id
            if ids.count(long.id) == 1
            else long.address
            if days.count(long.address) == 1
            else f"{os.path.basename(long.workspace)}/{long.address}",
            lines=False,
        )
        for long in longest
    ]
