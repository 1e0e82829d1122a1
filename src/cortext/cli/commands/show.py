"""`cortext show`."""

from __future__ import annotations

import click

from cortext.app.sessions import show_session
from cortext.cli.options import json_option, print_json, store_option
from cortext.cli.text import clean


@click.command("show")
@click.argument("id")
@store_option
@click.option("-n", "last", type=click.IntRange(min=1), help="Only the last N messages.")
@json_option
def command(id: str, store: str, last: int | None, as_json: bool) -> None:
    """Show one session: its id, or the beginning of it."""
    found = show_session(store, id)
    session = found.session
    if as_json:
        print_json(session.to_dict())
    else:
        title = clean(session.title, lines=False) or "(no title)"
        click.echo(f"{title}\n{session.id}  {session.updated_at:%Y-%m-%d %H:%M} UTC")
        for message in session.messages[-last:] if last else session.messages:
            click.echo(f"\n{message.role}  {message.timestamp:%Y-%m-%d %H:%M:%S}")
            click.echo(clean(message.content))
    for damage in found.damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {where}: {clean(damage.detail, lines=False)}", err=True)
    if any(damage.fatal for damage in found.damages):
        raise click.exceptions.Exit(5)
