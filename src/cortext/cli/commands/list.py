"""`cortext list`."""

from __future__ import annotations

import os
from typing import Any

import click

from cortext.cli.common_options import json_option, print_json, store_option
from cortext.cli.list_options import SourceType, filters, wanted
from cortext.cli.terminal_text import clean, local, one_line, say
from cortext.cli.views.list_view import as_json as conversations_as_json
from cortext.cli.views.list_view import columns, list_here, short, show_conversations
from cortext.features.listing.store_sessions import folder_of, is_server, list_sessions
from cortext.model.session_summary import SessionSummary
from cortext.service.stores.server_urls import without_secrets
from cortext.workspace.known_folders import forget_gone

_ORDERS = ["updated_at", "created_at", "title", "id", "message_count", "total_tokens"]


@click.command("list", context_settings={"allow_extra_args": True})
@filters
@click.option(
    "--tool",
    type=SourceType(),
    help="Only those that took place in this tool.",
)
@click.option("--search", metavar="TEXT", help="Only with these words in title or summary.")
@click.option(
    "--sort", "sort_by", type=click.Choice(_ORDERS), default="updated_at", show_default=True
)
@click.option("--forget", is_flag=True, help="Forget workspaces that are not there any more.")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, store: str | None, as_json: bool, forget: bool, **options: Any
) -> None:
    """List the conversations of this workspace, and the sessions that were had in its folder, in AI
    tools, in `spawn` and in programs that keep them, the latest first; with --store, the sessions
    of a store. In a terminal the newest are shown (setting list.limit), else all."""
    if ctx.args:
        raise click.UsageError(
            "words to choose by come after --search; `cortext search` looks in what was said"
        )
    if forget:
        _forget()
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
    **options: Any,
) -> None:
    which = wanted(**options, order=sort_by, words=search or "")
    if as_json:
        rows = list_here(everywhere=everywhere, wanted=which, limit=limit)
        print_json(conversations_as_json(rows))
    else:
        show_conversations(which, everywhere=everywhere, limit=limit)


def _forget() -> None:
    for root in forget_gone():
        say(f"forgotten: {short(root)}")


def _list_store(store: str, as_json: bool, options: dict[str, Any]) -> None:
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
    """Nothing was found: say whether there is nothing at all."""
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
