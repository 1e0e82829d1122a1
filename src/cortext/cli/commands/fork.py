"""The command `cortext fork`: start a conversation with the messages of another."""

from __future__ import annotations

import click

from cortext.cli.common_options import Number
from cortext.cli.conversation_completion import complete_id
from cortext.cli.editable_conversation import choose_editable
from cortext.features.manage.edit_conversation import fork


@click.command("fork")
@click.argument("id", nargs=-1, shell_complete=complete_id, required=True)
@click.option(
    "--at",
    type=Number(min=0),
    help="Copy only the messages up to this number; the first is 1. 0 copies none.",
)
@click.option("--title", default="", help="The title of the new conversation.")
def command(id: tuple[str, ...], at: int | None, title: str) -> None:
    """Start a conversation with a copy of the messages of another conversation.

    The command prints the path of the new markdown file. A session of an AI tool, of `spawn` or of
    a program is first saved as a conversation.
    """
    row = choose_editable(" ".join(id))
    started = fork(row, at=at, title=title)
    click.echo(started.document)
    count = len(started.session.messages)
    what = "1 message" if count == 1 else f"{count} messages"
    # Conversations of different days can have the same id. The address also contains the day.
    source = row.address if row.id == started.session.id else row.key
    click.echo(f"{started.session.id} is active. It has {what} from {source}.", err=True)
