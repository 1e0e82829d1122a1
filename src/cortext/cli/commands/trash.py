"""`cortext trash`."""

from __future__ import annotations

import click

from cortext.app.trash import empty, list_trash, restore
from cortext.cli.confirm import agree, yes_option
from cortext.cli.options import json_option, print_json
from cortext.cli.text import clean, local
from cortext.model import wire


@click.group("trash", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """What was deleted: list it, restore it, or empty the trash."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


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
                    "deleted_at": wire.iso(entry.deleted_at),
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
@click.argument("entry", nargs=-1, required=True)
def put_back(entry: tuple[str, ...]) -> None:
    """Put ENTRY back where it was: its number in the list, its id, or words of it."""
    found = restore(" ".join(entry))
    click.echo(f"restored {clean(found.label, lines=False)}")
    for origin in found.origins:
        click.echo(clean(origin, lines=False), err=True)


@command.command("empty")
@click.option("--days", type=click.IntRange(0, 36_500), default=0, help="Only what is older.")
@yes_option
def empty_it(days: int, yes: bool) -> None:
    """Remove for good what is in the trash."""
    count = len(list_trash())
    if not count:
        click.echo("the trash is empty", err=True)
        return
    agree(f"remove {count} for good?" if not days else "remove them for good?", yes)
    click.echo(f"{len(empty(days))} removed for good")
