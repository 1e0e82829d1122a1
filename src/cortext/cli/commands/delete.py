"""`cortext delete`."""

from __future__ import annotations

import click

from cortext.app.trash import delete
from cortext.cli.choose import choose, describe
from cortext.cli.confirm import agree, expire, yes_option
from cortext.cli.options import complete_id


@click.command("delete")
@click.argument("id", nargs=-1, shell_complete=complete_id, required=True)
@yes_option
def command(id: tuple[str, ...], yes: bool) -> None:
    """Move a conversation, with its markdown, to the trash."""
    row = choose(" ".join(id))
    click.echo(f"to the trash: {describe(row)}, {row.messages} messages", err=True)
    agree("delete it?", yes)
    entry = delete(row)
    click.echo(f"deleted; `cortext trash restore {entry.id[:8]}` brings it back")
    expire()
