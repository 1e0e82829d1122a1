"""The list of the sessions of a store, as `list --store` prints it."""

from __future__ import annotations

import os
from typing import Any

import click

from cortext.cli.common_options import print_json
from cortext.cli.terminal_text import clean, local, one_line
from cortext.cli.views.list_view import columns
from cortext.features.listing.store_sessions import folder_of, is_server, list_sessions
from cortext.model.session_summary import SessionSummary
from cortext.service.stores.server_urls import without_secrets


def list_store(store: str, as_json: bool, options: dict[str, Any]) -> None:
    """Print the sessions of a store, by the options of `cortext list`."""
    if any(options[name] for name in ("everywhere", "kind", "status", "since", "tool")):
        raise click.UsageError("--all, --type, --status, --since and --tool are for conversations")
    limit = options["limit"] or 50
    which = {name: options[name] for name in ("search", "tags", "owner")}
    found = list_sessions(store, limit=limit + 1, sort_by=options["sort_by"], **which)
    if as_json:
        print_json([summary.to_dict() for summary in found[:limit]])
    elif found:
        _print_sessions(found[:limit])
    else:
        _say_why(store, filtered=any(which.values()))
    if len(found) > limit:
        click.echo(f"there are more than {limit}: -n {limit * 2}", err=True)


def _print_sessions(found: list[SessionSummary]) -> None:
    rows = [
        [one_line(s.id), local(s.updated_at), str(s.message_count), clean(_title(s), lines=False)]
        for s in found
    ]
    click.echo(columns(["ID", "UPDATED", "MESSAGES", "TITLE"], rows))


def _title(summary: SessionSummary) -> str:
    return " ".join([summary.title, *(f"#{tag}" for tag in summary.tags)])


def _say_why(store: str, *, filtered: bool) -> None:
    """Say why nothing was found."""
    folder = folder_of(store)
    if filtered:
        click.echo("no session matches", err=True)
    elif is_server(store):
        click.echo(f"no sessions in {one_line(without_secrets(store))}", err=True)
    elif os.path.isdir(folder):
        click.echo(f"no sessions in {one_line(store)}", err=True)
    else:
        place = one_line(os.path.abspath(folder))
        is_file = os.path.lexists(folder)
        why = f"{place} is not a folder" if is_file else f"the folder {place} does not exist"
        click.echo(f"no sessions: {why}", err=True)
        click.echo("hint: `cortext demo` shows how sessions come about", err=True)
