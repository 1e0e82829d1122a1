"""`cortext clean`."""

from __future__ import annotations

import time

import click

from cortext import paths
from cortext.app.conversations import Conversations, Wanted
from cortext.app.trash import delete, rests_since
from cortext.cli.choose import describe
from cortext.cli.confirm import agree, expire, yes_option
from cortext.cli.options import all_option
from cortext.cli.text import clean
from cortext.errors import CortextError


@click.command("clean")
@click.argument("days", type=click.IntRange(0, 36_500))
@all_option
@yes_option
def command(days: int, everywhere: bool, yes: bool) -> None:
    """Move completed conversations that nobody touched for DAYS to the trash."""
    limit = int((time.time() - days * 86_400) * 1_000_000)
    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    completed = conversations.list(Wanted(status="completed", tool="")).rows
    old = [row for row in completed if rests_since(row, limit)]
    if not old:
        click.echo(f"no completed conversation rested for {days} days", err=True)
        return
    for row in old:
        click.echo(f"to the trash: {describe(row)}", err=True)
    agree(f"delete these {len(old)}?", yes)
    failed = 0
    for row in old:
        try:
            delete(row, unless=lambda row=row: not rests_since(row, limit))
        except (CortextError, OSError) as error:
            failed += 1
            click.echo(f"kept: {row.key}: {clean(str(error), lines=False)}", err=True)
    click.echo(f"{len(old) - failed} deleted; `cortext trash` has them")
    expire()
    if failed:
        raise click.exceptions.Exit(1)
