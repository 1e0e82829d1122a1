"""`cortext copy`."""

from __future__ import annotations

import click

from cortext.app.copy import copy_sessions
from cortext.app.sessions import open_existing
from cortext.cli.options import check_store
from cortext.cli.text import clean
from cortext.stores.registry import open_session_store


@click.command("copy")
@click.argument("source", callback=check_store)
@click.argument("target", callback=check_store)
def command(source: str, target: str) -> None:
    """Copy all sessions of SOURCE to TARGET.

    Both are stores: document:PATH, log:PATH or workspace:PATH. The source is kept. Run it again
    to bring the target up to date.
    """
    store = open_existing(source)
    if store is None:
        raise click.UsageError(f"there is no folder at {source}")
    result = copy_sessions(store, open_session_store(target))
    for id, reason in result.failed:
        click.echo(f"not copied: {id}: {clean(reason, lines=False)}", err=True)
    counts = (len(result.copied), len(result.present), len(result.failed))
    click.echo("{} copied, {} there already, {} failed".format(*counts))
    if result.failed:
        raise click.exceptions.Exit(1)
