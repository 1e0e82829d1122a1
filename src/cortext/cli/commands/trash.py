"""The command `cortext trash`: list, restore or permanently remove deleted conversations."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import click
from click.shell_completion import CompletionItem

from cortext import clock
from cortext.cli.common_options import Number, json_option, print_json
from cortext.cli.confirmation import agree, yes_option
from cortext.cli.terminal_text import clean, local
from cortext.cli.views.bar_chart import counted
from cortext.features.manage.trash import empty, list_trash, restore
from cortext.model import message_dicts


def complete_entry(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of trash entries that start with the typed text, for shell completion.

    The name is the id of the deleted conversation. If that id is not unique in the trash, or is not
    a single word, the name is the id of the trash entry.
    """
    if ctx.params.get(param.name or ""):
        return []
    entries = list_trash()
    names = [entry.label.partition(": ")[0] for entry in entries]
    times = Counter(names)
    items: list[CompletionItem] = []
    for entry, name in zip(entries, names, strict=True):
        is_word = times[name] == 1 and clean(name) == name and len(name.split()) == 1
        word = name if is_word else entry.id
        if word.startswith(incomplete):
            items.append(CompletionItem(word, help=clean(entry.label, lines=False)))
    return items


@click.group("trash", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List deleted conversations, restore them, or empty the trash."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show, as_json=as_json)


@command.command("list")
@json_option
def show(as_json: bool) -> None:
    """List the deleted conversations, latest first."""
    entries = list_trash()
    if as_json:
        print_json(
            [
                {
                    "id": entry.id,
                    "label": entry.label,
                    "deleted_at": message_dicts.iso(entry.deleted_at),
                    "origins": list(entry.origins),
                }
                for entry in entries
            ]
        )
        return
    for number, entry in enumerate(entries, 1):
        label = clean(entry.label, lines=False)
        click.echo(f"{number}. {local(entry.deleted_at)}  {entry.id[:8]}  {label}")
    if not entries:
        click.echo("The trash is empty.", err=True)


@command.command("restore")
@click.argument("entry", nargs=-1, required=True, shell_complete=complete_entry)
def restore_entry(entry: tuple[str, ...]) -> None:
    """Restore a deleted conversation to its original place.

    ENTRY is a number in the list of `cortext trash`, an id, or words of the title. Give several
    numbers to restore several conversations.
    """
    several = len(entry) > 1 and all(word.isascii() and word.isdecimal() for word in entry)
    # Restore the highest number first, because each restored entry changes the numbers after it.
    words = sorted(set(entry), key=int, reverse=True) if several else [" ".join(entry)]
    for word in words:
        restored = restore(word)
        click.echo(f"Restored: {clean(restored.label, lines=False)}")
        for origin in restored.origins:
            click.echo(clean(origin, lines=False), err=True)


@command.command("empty")
@click.option(
    "--days",
    type=Number(0, 36_500),
    default=0,
    help="Delete only what has been in the trash for more than this many days.",
)
@yes_option
def empty_trash(days: int, yes: bool) -> None:
    """Permanently delete everything in the trash."""
    limit = clock.now() - timedelta(days=days)
    old = [entry for entry in list_trash() if entry.deleted_at <= limit]
    if not old:
        click.echo("Nothing in the trash is that old." if days else "The trash is empty.", err=True)
        return
    for entry in old:
        click.echo(f"to be deleted: {clean(entry.label, lines=False)}", err=True)
    agree(f"Permanently delete {counted(len(old), 'conversation')}?", yes)
    click.echo(f"{counted(len(empty(days)), 'conversation')} permanently deleted.")
