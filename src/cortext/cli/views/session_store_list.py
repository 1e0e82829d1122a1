"""The list of sessions that `cortext list --store` prints."""

from __future__ import annotations

import os
from typing import Any

import click

from cortext.cli.common_options import print_json
from cortext.cli.terminal_text import clean, local, one_line
from cortext.cli.views.list_view import columns
from cortext.features.listing.store_sessions import folder_of, is_server, list_sessions
from cortext.model.session_summary import SessionSummary
from cortext.service.stores.store_url_checks import url_without_secrets


def list_store(store: str, as_json: bool, options: dict[str, Any]) -> None:
    """Print the sessions of the store with the URL `store`.

    `options` maps the options of `cortext list` to their values. Raises UsageError for an option
    that does not work with a store.
    """
    unusable = ("everywhere", "folder", "branch", "kind", "status", "since", "tool")
    if any(options[name] for name in unusable):
        raise click.UsageError(
            "--all, --in, --branch, --type, --status, --since and --tool do not work with --store"
        )
    limit = options["limit"] or 50
    filters = {name: options[name] for name in ("search", "tags", "owner")}
    sessions = list_sessions(store, limit=limit + 1, sort_by=options["sort_by"], **filters)
    if as_json:
        print_json([summary.to_dict() for summary in sessions[:limit]])
    elif sessions:
        _print_sessions(sessions[:limit])
    else:
        _explain_empty(store, filtered=any(filters.values()))
    if len(sessions) > limit:
        click.echo(f"More sessions: add -n {limit * 2}.", err=True)


def _print_sessions(sessions: list[SessionSummary]) -> None:
    rows = [
        [one_line(s.id), local(s.updated_at), str(s.message_count), clean(_title(s), lines=False)]
        for s in sessions
    ]
    click.echo(columns(["ID", "UPDATED", "MESSAGES", "TITLE"], rows))


def _title(summary: SessionSummary) -> str:
    return " ".join([summary.title, *(f"#{tag}" for tag in summary.tags)])


def _explain_empty(store: str, *, filtered: bool) -> None:
    folder = folder_of(store)
    if filtered:
        click.echo("No session matches.", err=True)
    elif is_server(store):
        click.echo(f"No sessions in {one_line(url_without_secrets(store))}", err=True)
        click.echo(
            "hint: conversations of `cortext serve` are not sessions: `cortext web --store URL` "
            "shows them",
            err=True,
        )
    elif os.path.isdir(folder):
        click.echo(f"No sessions in {one_line(store)}", err=True)
    else:
        place = one_line(os.path.abspath(folder))
        is_file = os.path.lexists(folder)
        why = f"{place} is not a folder" if is_file else f"the folder {place} does not exist"
        click.echo(f"No sessions: {why}.", err=True)
        click.echo("hint: for an example of a session: `cortext demo`", err=True)
