"""`cortext rename`."""

from __future__ import annotations

import click

from cortext.app.arrange import rename
from cortext.cli.choose import choose
from cortext.cli.options import complete_id, plain_words
from cortext.cli.text import clean


@click.command("rename", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=complete_id)
@click.argument("title", nargs=-1, required=True, callback=plain_words)
def command(id: str, title: tuple[str, ...]) -> None:
    """Give a conversation another TITLE. Its id and its folder stay as they are."""
    row = choose(id)
    session = rename(row, " ".join(title))
    click.echo(f'{row.key} is now "{clean(session.title, lines=False)}"')
