"""`cortext trash`."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import click
from click.shell_completion import CompletionItem

from cortext import clock
from cortext.cli.common_options import Number, json_option, print_json
from cortext.cli.confirm import agree, yes_option
from cortext.cli.terminal_text import clean, local
from cortext.features.manage.trash import empty, list_trash, restore
from cortext.model import record_dicts


def complete_entry(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the trash entries that start with the typed text, for shell completion.

    An entry is named by the id of its conversation. If that id is not unique or not one word, the
    id of the entry is used.
    """
    if ctx.params.get(param.name or ""):
        return []
    entries = list_trash()
    names = [entry.label.partition(": ")[0] for entry in entries]
    times = Counter(names)
    found: list[CompletionItem] = []
    for entry, name in zip(entries, names, strict=True):
        is_word = times[name] == 1 and clean(name) == name and len(name.split()) == 1
        word = name if is_word else entry.id
        if word.startswith(incomplete):
            found.append(CompletionItem(word, help=clean(entry.label, lines=False)))
    return found


@click.group("trash", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What was deleted: list it, restore it, or empty the trash."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show, as_json=as_json)


@command.command("list")
@json_option
def show(as_json: bool) -> None:
    """List what is in the trash, the latest first."""
    entries = list_trash()
    if as_json:
        print_json(
            [
                {
                    "id": entry.id,
                    "label": entry.label,
                    "deleted_at": record_dicts.iso(entry.deleted_at),
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
        click.echo("the trash is empty", err=True)


@command.command("restore")
@click.argument("entry", nargs=-1, required=True, shell_complete=complete_entry)
def put_back(entry: tuple[str, ...]) -> None:
    """Put ENTRY back where it was: its number in the list, its id, or words of it. Several
    numbers are several entries."""
    several = len(entry) > 1 and all(word.isascii() and word.isdecimal() for word in entry)
    # Each that is put back moves up those that were deleted before it.
    words = sorted(set(entry), key=int, reverse=True) if several else [" ".join(entry)]
    for word in words:
        found = restore(word)
        click.echo(f"restored {clean(found.label, lines=False)}")
        for origin in found.origins:
            click.echo(clean(origin, lines=False), err=True)


@command.command("empty")
@click.option("--days", type=Number(0, 36_500), default=0, help="Only what is older.")
@yes_option
def empty_it(days: int, yes: bool) -> None:
    """Remove for good what is in the trash."""
    limit = clock.now() - timedelta(days=days)
    old = [entry for entry in list_trash() if entry.deleted_at <= limit]
    if not old:
        click.echo("nothing in the trash is that old" if days else "the trash is empty", err=True)
        return
    for entry in old:
        click.echo(f"for good: {clean(entry.label, lines=False)}", err=True)
    agree("remove it?" if len(old) == 1 else f"remove these {len(old)}?", yes)
    click.echo(f"{len(empty(days))} removed for good")
