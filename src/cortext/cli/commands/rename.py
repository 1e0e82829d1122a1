"""`cortext rename`."""

from __future__ import annotations

import click

from cortext.cli.common_options import complete_id, plain_words
from cortext.cli.select_conversation import choose_ours
from cortext.cli.terminal_text import clean
from cortext.features.manage.edit_conversation import as_title, rename


@click.command("rename", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=complete_id)
@click.argument("title", nargs=-1, required=True, callback=plain_words)
def command(id: str, title: tuple[str, ...]) -> None:
    """Give a conversation another TITLE. Its id and its folder stay as they are. A session of an AI
    tool, of `spawn` or of a program becomes a conversation first."""
    text = as_title(" ".join(title))
    row = choose_ours(id)
    session = rename(row, text)
    click.echo(f'{row.key} is now "{clean(session.title, lines=False)}"')
