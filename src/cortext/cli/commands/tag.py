"""The command `cortext tag`: add tags to a conversation, or remove them."""

from __future__ import annotations

import click

from cortext.cli.conversation_choice import choose
from cortext.cli.conversation_completion import complete_id
from cortext.cli.editable_conversation import choose_editable
from cortext.cli.terminal_text import clean, say
from cortext.cli.views.list_view import short_id
from cortext.features.manage.edit_conversation import normalize_tag, tag


@click.command("tag")
@click.argument("id", shell_complete=complete_id)
@click.argument("tags", nargs=-1)
@click.option("-d", "--remove", "removed", multiple=True, help="Remove this tag. Can be repeated.")
def command(id: str, tags: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Add TAGS to a conversation. Without TAGS, print its tags.

    To tag a session of an AI tool, of `spawn` or of a program, cortext makes a conversation of it
    first.
    """
    if (tags or removed) and not any(map(normalize_tag, (*tags, *removed))):
        raise click.UsageError("a tag must not be empty")
    if tags or removed:
        row = choose_editable(id)
        for name in [name for name in removed if normalize_tag(name) not in row.tags]:
            say(f"{short_id(row)} does not have the tag {name}.")
        shown_tags = tag(row, add=tags, remove=removed).tags
    else:
        row = choose(id)
        shown_tags = row.tags
    # The heading goes to stderr, so that programs can read the tags from stdout, one on each line.
    say(f"Tags of {short_id(row)}:" if shown_tags else f"{short_id(row)} has no tags.")
    for name in shown_tags:
        click.echo(clean(name, lines=False))
