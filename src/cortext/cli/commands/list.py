"""`cortext list`."""

from __future__ import annotations

import os

import click

from cortext.app.sessions import folder_of, list_sessions
from cortext.cli.options import json_option, print_json, store_option
from cortext.cli.text import clean, local
from cortext.model.summary import SessionSummary

_HEADINGS = ("ID", "UPDATED", "MESSAGES", "TITLE")
_ORDERS = ["updated_at", "created_at", "title", "id", "message_count", "total_tokens"]


@click.command("list")
@store_option
@click.option("--search", metavar="TEXT", help="Only titles that hold this.")
@click.option("--tag", "tags", multiple=True, help="Only sessions with this tag; repeatable.")
@click.option(
    "--sort", "sort_by", type=click.Choice(_ORDERS), default="updated_at", show_default=True
)
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="At most this many.",
)
@json_option
def command(
    store: str, search: str | None, tags: tuple[str, ...], sort_by: str, limit: int, as_json: bool
) -> None:
    """List sessions, newest first."""
    found = list_sessions(store, limit=limit + 1, search=search, tags=tags, sort_by=sort_by)
    if as_json:
        print_json([summary.to_dict() for summary in found[:limit]])
    elif found:
        _print(found[:limit])
    else:
        _say_why(store, filtered=bool(search or tags))
    if len(found) > limit:
        click.echo(f"there are more than {limit}: -n {limit * 2}", err=True)


def _print(found: list[SessionSummary]) -> None:
    rows = [
        (s.id, local(s.updated_at), str(s.message_count), clean(_title(s), lines=False))
        for s in found
    ]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(3)]
    for id, updated, count, title in (_HEADINGS, *rows):
        line = f"{id:{widths[0]}}  {updated:{widths[1]}}  {count:>{widths[2]}}  {title}"
        click.echo(line.rstrip())


def _title(summary: SessionSummary) -> str:
    return " ".join([summary.title, *(f"#{tag}" for tag in summary.tags)])


def _say_why(store: str, *, filtered: bool) -> None:
    """Nothing was found: say whether there is nothing at all."""
    folder = folder_of(store)
    if filtered:
        click.echo("no session matches", err=True)
    elif os.path.isdir(folder):
        click.echo(f"no sessions in {store}", err=True)
    else:
        what = "is not a folder" if os.path.lexists(folder) else "does not exist"
        click.echo(f"no sessions: {folder} {what}", err=True)
        click.echo("hint: `cortext demo` shows how sessions come about", err=True)
