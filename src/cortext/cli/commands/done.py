"""`cortext done`."""

from __future__ import annotations

import click

from cortext.cli.commands.stop import end
from cortext.cli.common_options import complete_id, plain_words
from cortext.cli.select_conversation import choose_active


@click.command("done", context_settings={"ignore_unknown_options": True})
@click.argument("id", nargs=-1, shell_complete=complete_id, callback=plain_words)
@click.option("--summary", help="What came of it; made from the conversation when not given.")
def command(id: tuple[str, ...], summary: str | None) -> None:
    """Save a conversation and mark it as completed. Without an ID: the only active one."""
    end(choose_active(id), summary, completed=True)
