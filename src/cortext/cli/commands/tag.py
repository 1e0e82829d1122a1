"""`cortext tag`."""

from __future__ import annotations

import click

from cortext.cli.common_options import complete_id
from cortext.cli.select_conversation import choose, choose_ours
from cortext.cli.terminal_text import clean
from cortext.features.manage.edit_conversation import tag


@click.command("tag")
@click.argument("id", shell_complete=complete_id)
@click.argument("tags", nargs=-1)
@click.option("-d", "--remove", "removed", multiple=True, help="Take this tag away; repeatable.")
def command(id: str, tags: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Add TAGS to a conversation. Without any, print those that it has. A session of an AI tool, of
    `spawn` or of a program becomes a conversation first."""
    if tags or removed:
        found = tag(choose_ours(id), add=tags, remove=removed).tags
    else:
        found = choose(id).tags
    for each in found:
        click.echo(clean(each, lines=False))
