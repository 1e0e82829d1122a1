"""The command `cortext copy`: copy sessions from one store to another."""

from __future__ import annotations

import click

from cortext.cli.store_option import check_store
from cortext.cli.terminal_text import clean
from cortext.features.listing.store_sessions import open_readable
from cortext.features.transfer.copy_sessions import copy_sessions
from cortext.stores.store_registry import open_session_store


@click.command("copy")
@click.argument("source", callback=check_store)
@click.argument("target", callback=check_store)
def command(source: str, target: str) -> None:
    """Copy all sessions of the store SOURCE to the store TARGET.

    A store is document:PATH, log:PATH, workspace:PATH, redis://HOST:PORT/DB or
    postgresql://HOST/DATABASE. SOURCE does not change.

    To copy later changes too, run the command again. If a session in TARGET has messages that
    SOURCE does not have, the command names that session and does not change it.
    """
    store = open_readable(source)
    if store is None:
        raise click.UsageError(f"the store {source} does not exist")
    result = copy_sessions(store, open_session_store(target))
    for id, reason in result.failed:
        click.echo(f"not copied: {id} ({clean(reason, lines=False)})", err=True)
    counts = (len(result.copied), len(result.present), len(result.failed))
    click.echo("{} copied, {} already up to date, {} not copied".format(*counts))
    if result.failed:
        raise click.exceptions.Exit(1)
