"""After the picker has closed: the tool gets the terminal."""

from __future__ import annotations

import click

from cortext.cli.picker.shelf import Chosen, is_spawned
from cortext.cli.reopening import can_launch, reopen_in_tool, say
from cortext.index.listed import Listed


def go_on(chosen: Chosen) -> None:
    """As `cortext resume` does, with the row that was chosen. It ends as the tool does."""
    row, tool = chosen.row, chosen.tool or None
    if is_spawned(row):
        raise click.exceptions.Exit(_talk_on(row))
    if not can_launch(tool):
        say(f"`cortext resume --context {row.key}`")
        raise click.exceptions.Exit(1)
    reopen_in_tool(row, tool, None, fork=chosen.fork)


def _talk_on(row: Listed) -> int:
    from cortext.cli.spawned import prepare
    from cortext.cli.spawning import go_on

    return go_on(row.key, None, None, prepare())
