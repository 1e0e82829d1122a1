"""`cortext done`."""

from __future__ import annotations

import click

from cortext.app.stop import stop
from cortext.cli.commands.stop import confirm
from cortext.lifecycle.workspace import Workspace


@click.command("done")
@click.argument("id", required=False)
@click.option("--summary", help="What came of it; made from the conversation when not given.")
def command(id: str | None, summary: str | None) -> None:
    """Save a conversation and mark it as completed. Without an ID: the only active one."""
    confirm(stop(Workspace.find(), id, summary=summary, completed=True), "completed")
