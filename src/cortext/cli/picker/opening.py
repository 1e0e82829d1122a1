"""After the picker has closed: the tool gets the terminal."""

from __future__ import annotations

import click

from cortext import paths
from cortext.cli.picker.shelf import Chosen, is_spawned
from cortext.cli.reopening import can_launch, get_ready, launch, pick_tool, say
from cortext.index.listed import Listed


def go_on(chosen: Chosen) -> None:
    """As `cortext resume` does, with the row that was chosen. It ends as the tool does."""
    from cortext.app.resume import activate
    from cortext.config import Config

    row = chosen.row
    if is_spawned(row):
        raise click.exceptions.Exit(_talk_on(row))
    if not can_launch(chosen.tool or None):
        say(f"`cortext resume --context {row.key}`")
        raise click.exceptions.Exit(1)
    reopening = chosen.fork or _may_go_on(row)
    tool = pick_tool(row, chosen.tool or None)
    if not row.status:
        activate(row, reopen=False)
    budget = int(Config.load(paths.workspace_root())["resume.budget"])
    prepared = get_ready(row, tool, budget=budget, fork=chosen.fork, extra=())
    activate(prepared.row, reopen=reopening)
    launch(prepared)


def _talk_on(row: Listed) -> int:
    from cortext.cli.spawned import prepare
    from cortext.cli.spawning import go_on

    return go_on(row.key, None, None, prepare())


def _may_go_on(row: Listed) -> bool:
    """Whether one that was completed is reopened; if that is not meant, this is the end."""
    if row.status != "completed":
        return False
    if not click.confirm("it was marked complete; go on with it all the same?", err=True):
        say("nothing was done")
        raise click.exceptions.Exit(1)
    return True
