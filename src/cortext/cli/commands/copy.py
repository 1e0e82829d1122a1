"""`cortext copy`."""

from __future__ import annotations

import click

from cortext.cli.common_options import check_store
from cortext.cli.terminal_text import clean
from cortext.features.listing.store_sessions import open_readable
from cortext.features.transfer.copy_sessions import copy_sessions
from cortext.stores.store_registry import open_session_store


@click.command("copy")
@click.argument("source", callback=check_store)
@click.argument("target", callback=check_store)
def command(source: str, target: str) -> None:
    """Copy all sessions of SOURCE to TARGET.

    Both are stores: document:PATH, log:PATH, workspace:PATH, redis://HOST:PORT/DB or
    postgresql://HOST/DATABASE. The source is kept. Run it again to bring the target up to date: a
    session that has messages there which it has not here is named and left as it is.
    """
    store = open_readable(source)
    if store is None:
        raise click.UsageError(f"there is no folder at {source}")
    result = copy_sessions(store, open_session_store(target))
    for id, reason in result.failed:
        click.echo(f"not copied: {id}: {clean(reason, lines=False)}", err=True)
    counts = (len(result.copied), len(result.present), len(result.failed))
    click.echo("{} copied, {} there already, {} failed".format(*counts))
    if result.failed:
        raise click.exceptions.Exit(1)
