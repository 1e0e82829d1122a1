"""`cortext tag`."""

from __future__ import annotations

import click

from cortext.app.arrange import tag
from cortext.cli.choose import choose
from cortext.cli.options import complete_id
from cortext.cli.text import clean


@click.command("tag")
@click.argument("id", shell_complete=complete_id)
@click.argument("tags", nargs=-1)
@click.option("-d", "--remove", "removed", multiple=True, help="Take this tag away; repeatable.")
def command(id: str, tags: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Add TAGS to a conversation. Without any, print those that it has."""
    row = choose(id)
    found = tag(row, add=tags, remove=removed).tags if tags or removed else row.tags
    for each in found:
        click.echo(clean(each, lines=False))
