"""The command `cortext rename`: change the title of a conversation."""

from __future__ import annotations

import click

from cortext.cli.common_options import plain_words
from cortext.cli.conversation_completion import complete_id
from cortext.cli.editable_conversation import choose_editable
from cortext.cli.terminal_text import clean
from cortext.features.manage.edit_conversation import as_title, rename


@click.command("rename", context_settings={"ignore_unknown_options": True})
@click.argument("id", shell_complete=complete_id)
@click.argument("title", nargs=-1, required=True, callback=plain_words)
def command(id: str, title: tuple[str, ...]) -> None:
    """Change the TITLE of a conversation. Its id and folder do not change.

    A session of an AI tool, of `spawn` or of a program becomes a conversation first.
    """
    text = as_title(" ".join(title))
    row = choose_editable(id)
    session = rename(row, text)
    click.echo(f'Renamed {row.key} to "{clean(session.title, lines=False)}".')
