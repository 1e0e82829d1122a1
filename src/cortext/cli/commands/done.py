"""The command `cortext done`: save a conversation and mark it as completed."""

from __future__ import annotations

import click

from cortext.cli.commands.stop import end
from cortext.cli.common_options import query_words
from cortext.cli.conversation_choice import choose_active
from cortext.cli.conversation_completion import complete_id


@click.command("done", context_settings={"ignore_unknown_options": True})
@click.argument("id", nargs=-1, shell_complete=complete_id, callback=query_words)
@click.option("--summary", help="The result of the conversation.  [default: a generated summary]")
def command(id: tuple[str, ...], summary: str | None) -> None:
    """Save a conversation and mark it as completed.

    Without an ID, the command uses the active conversation.
    """
    end(choose_active(id), summary, completed=True)
