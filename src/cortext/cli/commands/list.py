"""The command `cortext list`: list conversations, most recent first."""

from __future__ import annotations

from typing import Any

import click

from cortext.cli.common_options import json_option, print_json
from cortext.cli.list_options import SourceType, filters, wanted
from cortext.cli.store_option import store_option
from cortext.cli.terminal_text import say
from cortext.cli.views.list_view import as_json as conversations_as_json
from cortext.cli.views.list_view import list_here, short, show_conversations
from cortext.workspace.known_folders import forget_gone

_ORDERS = {
    "date": "updated_at",
    "created": "created_at",
    "title": "title",
    "id": "id",
    "messages": "message_count",
    "tokens": "total_tokens",
}
"""The words for `--sort`, and the fields by which they sort. A user can type the field too."""


class OrderType(click.Choice[str]):
    """The click type of the option `--sort`: the order of the list, such as `messages`.

    The name of the field to sort by, such as `message_count`, is also accepted.
    """

    def __init__(self) -> None:
        super().__init__([*_ORDERS], case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = str(value).lower()
        return word if word in _ORDERS.values() else _ORDERS[super().convert(word, param, ctx)]


@click.command("list", context_settings={"allow_extra_args": True})
@filters
@click.option(
    "--tool",
    type=SourceType(),
    help="Only conversations that took place in this tool. `document` means sessions of your own "
    "programs.",
)
@click.option(
    "--search", metavar="TEXT", help="Only conversations with these words in title or summary."
)
@click.option(
    "--sort",
    "sort_by",
    type=OrderType(),
    default="date",
    show_default=True,
    help="Sort by this. The latest and the largest come first, titles and ids by alphabet.",
)
@click.option("--forget", is_flag=True, help="Forget known workspaces that no longer exist.")
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, store: str | None, as_json: bool, forget: bool, **options: Any
) -> None:
    """List conversations and sessions, most recent first.

    In a workspace, the list has its conversations, and the sessions that took place in its folder:
    sessions of AI tools, of `spawn` and of programs. Outside a workspace, the list has sessions
    from the current folder and below, then conversations of your personal workspace that belong to
    no folder. With --store, the list has the sessions of that store.

    In a terminal, the length of the list is limited (setting list.limit).
    """
    if ctx.args:
        raise click.UsageError(
            "This command takes no words. To filter by title, use --search. "
            "To search the messages, use `cortext search`."
        )
    if forget:
        _forget_missing_workspaces()
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
    list_filter = wanted(**options, order=sort_by, words=search or "")
    everywhere = everywhere or bool(list_filter.folder)
    if as_json:
        rows = list_here(everywhere=everywhere, wanted=list_filter, limit=limit)
        print_json(conversations_as_json(rows))
    else:
        show_conversations(list_filter, everywhere=everywhere, limit=limit)


def _forget_missing_workspaces() -> None:
    for root in forget_gone():
        say(f"forgot the workspace {short(root)}")
