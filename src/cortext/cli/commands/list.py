"""`cortext list`."""

from __future__ import annotations

from typing import Any

import click

from cortext.cli.common_options import json_option, print_json, store_option
from cortext.cli.list_options import SourceType, filters, wanted
from cortext.cli.terminal_text import say
from cortext.cli.views.list_view import as_json as conversations_as_json
from cortext.cli.views.list_view import list_here, short, show_conversations
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
        from cortext.cli.views.session_store_list import list_store

        list_store(store, as_json, options)
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
