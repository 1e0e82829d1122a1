"""`cortext list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cortext.cli.lists import as_json as conversations_as_json
from cortext.cli.lists import filters, list_here, short, wanted
from cortext.cli.options import json_option, print_json, store_option
from cortext.cli.text import cells, clean, fit, local, to_edge

if TYPE_CHECKING:
    from cortext.index.listed import Listed
    from cortext.model.summary import SessionSummary

_ORDERS = ["updated_at", "created_at", "title", "id", "message_count", "total_tokens"]


@click.command("list")
@filters
@click.option("--search", metavar="TEXT", help="Only titles that hold this.")
@click.option(
    "--sort", "sort_by", type=click.Choice(_ORDERS), default="updated_at", show_default=True
)
@store_option
@json_option
def command(store: str | None, as_json: bool, **options: Any) -> None:
    """List the conversations of this workspace, the latest first; with --store, the sessions of
    a store. In a terminal the newest 50 are shown, else all."""
    if store:
        _list_store(store, as_json, options)
    else:
        _list_conversations(as_json, **options)


def _list_conversations(
    as_json: bool,
    *,
    everywhere: bool,
    search: str | None,
    sort_by: str,
    limit: int | None,
    **which: Any,
) -> None:
    rows = list_here(
        everywhere=everywhere,
        wanted=wanted(**which, order=sort_by, words=search or ""),
        limit=limit,
    )
    if as_json:
        print_json(conversations_as_json(rows))
    elif rows:
        _print_conversations(rows, everywhere)
    elif search or any(which.values()):
        click.echo("no conversation matches", err=True)
    else:
        say_none()


def say_none() -> None:
    """Nothing is there: say how something comes to be."""
    click.echo("no conversations here yet", err=True)
    click.echo('hint: begin one with `cortext new brainstorm "your topic"`', err=True)


def _print_conversations(rows: list[Listed], everywhere: bool) -> None:
    headings = ["ID", "LAST ACTIVE", "STATUS", "MESSAGES", "TITLE"]
    table = [
        [row.key, local(row.active_at), row.status or "-", str(row.messages), _titled(row)]
        for row in rows
    ]
    if everywhere:
        headings.insert(1, "WORKSPACE")
        for cells, row in zip(table, rows, strict=True):
            cells.insert(1, short(row.root))
    _print_table(headings, table)


def _titled(row: Listed) -> str:
    return " ".join([row.title, *(f"#{tag}" for tag in row.tags)])


def _list_store(store: str, as_json: bool, options: dict[str, Any]) -> None:
    from cortext.app.sessions import list_sessions

    if any(options[name] for name in ("everywhere", "kind", "status", "since")):
        raise click.UsageError("--all, --type, --status and --since are for conversations")
    limit = options["limit"] or 50
    search, tags = options["search"], options["tags"]
    found = list_sessions(
        store, limit=limit + 1, search=search, tags=tags, sort_by=options["sort_by"]
    )
    if as_json:
        print_json([summary.to_dict() for summary in found[:limit]])
    elif found:
        _print_sessions(found[:limit])
    else:
        _say_why(store, filtered=bool(search or tags))
    if len(found) > limit:
        click.echo(f"there are more than {limit}: -n {limit * 2}", err=True)


def _print_sessions(found: list[SessionSummary]) -> None:
    rows = [
        [s.id, local(s.updated_at), str(s.message_count), clean(_title(s), lines=False)]
        for s in found
    ]
    _print_table(["ID", "UPDATED", "MESSAGES", "TITLE"], rows)


def _title(summary: SessionSummary) -> str:
    return " ".join([summary.title, *(f"#{tag}" for tag in summary.tags)])


def _print_table(headings: list[str], rows: list[list[str]]) -> None:
    """Columns of text; only a terminal cuts lines off at its edge."""
    widths = [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]
    for row in (headings, *rows):
        line = "  ".join(
            cell.rjust(width) if heading == "MESSAGES" else fit(cell, width)
            for heading, cell, width in zip(headings, row, widths, strict=True)
        )
        click.echo(to_edge(line.rstrip()))


def _say_why(store: str, *, filtered: bool) -> None:
    """Nothing was found: say whether there is nothing at all."""
    import os

    from cortext.app.sessions import folder_of

    folder = folder_of(store)
    if filtered:
        click.echo("no session matches", err=True)
    elif os.path.isdir(folder):
        click.echo(f"no sessions in {store}", err=True)
    else:
        what = "is not a folder" if os.path.lexists(folder) else "does not exist"
        click.echo(f"no sessions: {folder} {what}", err=True)
        click.echo("hint: `cortext demo` shows how sessions come about", err=True)
