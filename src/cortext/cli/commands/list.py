"""`cortext list`."""

from __future__ import annotations

import click

from cortext.app.sessions import list_sessions
from cortext.cli.options import json_option, print_json, store_option
from cortext.cli.text import clean

_HEADINGS = ("ID", "UPDATED", "MESSAGES", "TITLE")


@click.command("list")
@store_option
@click.option("--search", metavar="WORDS", help="Only titles that hold this.")
@click.option("--tag", "tags", multiple=True, help="Only sessions with this tag; repeatable.")
@click.option(
    "--sort",
    "sort_by",
    type=click.Choice(["updated_at", "created_at", "title", "message_count", "total_tokens"]),
    default="updated_at",
    show_default=True,
)
@click.option("-n", "limit", type=click.IntRange(min=1), default=50, show_default=True)
@json_option
def command(
    store: str, search: str | None, tags: tuple[str, ...], sort_by: str, limit: int, as_json: bool
) -> None:
    """List sessions, newest first."""
    found = list_sessions(store, limit=limit, search=search, tags=tags, sort_by=sort_by)
    if as_json:
        print_json([summary.to_dict() for summary in found])
        return
    if not found:
        click.echo("no sessions", err=True)
        click.echo(f"hint: looked in {store}; `cortext demo` shows how they come about", err=True)
        return
    rows = [
        (s.id, f"{s.updated_at:%Y-%m-%d %H:%M}", str(s.message_count), clean(s.title, lines=False))
        for s in found
    ]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(3)]
    for id, updated, count, title in (_HEADINGS, *rows):
        click.echo(
            f"{id:{widths[0]}}  {updated:{widths[1]}}  {count:>{widths[2]}}  {title}".rstrip()
        )
