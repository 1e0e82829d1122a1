"""`cortext fork`."""

from __future__ import annotations

import click

from cortext.cli.common_options import Number, complete_id
from cortext.cli.select_conversation import choose_ours
from cortext.features.manage.edit_conversation import fork


@click.command("fork")
@click.argument("id", nargs=-1, shell_complete=complete_id, required=True)
@click.option("--at", type=Number(min=0), help="Only up to this message; the first is 1.")
@click.option("--title", default="", help="A title of its own.")
def command(id: tuple[str, ...], at: int | None, title: str) -> None:
    """Begin a conversation with what was said in another, and print the path of its markdown. A
    session of an AI tool, of `spawn` or of a program becomes a conversation first."""
    row = choose_ours(" ".join(id))
    started = fork(row, at=at, title=title)
    click.echo(started.document)
    count = len(started.session.messages)
    what = "1 message" if count == 1 else f"{count} messages"
    # On another day, both may have one id.
    of = row.address if row.id == started.session.id else row.key
    click.echo(f"{started.session.id} is active, with {what} of {of}", err=True)
