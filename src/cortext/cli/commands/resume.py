"""`cortext resume`."""

from __future__ import annotations

from typing import Any

import click

from cortext.cli.common_options import Number, complete_id, json_option, plain_words, print_json
from cortext.cli.list_options import filters, tool_option, wanted
from cortext.cli.terminal_text import can_ask
from cortext.cli.views.list_view import as_json as rows_as_json
from cortext.cli.views.list_view import list_here, show_resumable

_EXTRA = "cortext.resume.extra"
_PRINT = (
    "Print the command line, start nothing, and write the session that it names where the tool "
    "has none: one of another tool becomes a conversation for that, with an id of its own. Status "
    "and time stay."
)
_CONTEXT = "Print the briefing for an agent; status and time stay as they are."


class _Resume(click.Command):
    """What stands after `--` and a query is for the tool; after `--` alone it is the query."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        if "--" in words:
            at = words.index("--")
            rest = super().parse_args(ctx, words[:at])
            if ctx.params["query"] or ctx.params["last"]:
                ctx.meta[_EXTRA] = tuple(words[at + 1 :])
                return rest
            ctx.params.clear()
        return super().parse_args(ctx, words)


@click.command("resume", cls=_Resume, context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, shell_complete=complete_id, callback=plain_words)
@click.option("-c", "--last", is_flag=True, help="The latest one here that is open nowhere.")
@tool_option
@click.option("--fork", is_flag=True, help="Go on in a copy, also of one that is open elsewhere.")
@click.option("--print", "printing", is_flag=True, help=_PRINT)
@click.option("--list", "listing", is_flag=True, help="Show what can be resumed.")
@click.option("--context", is_flag=True, help=_CONTEXT)
@click.option(
    "--budget",
    type=Number(min=4000),
    help="At most about this many characters of history.  [default: the setting resume.budget]",
)
@click.option("--reopen", is_flag=True, help="Also one that was completed.")
@click.option("--tools", metavar="NAMES", help="The tools that your agent has now, with commas.")
@filters
@json_option
def command(
    query: tuple[str, ...],
    last: bool,
    tool: str | None,
    fork: bool,
    printing: bool,
    listing: bool,
    context: bool,
    budget: int | None,
    reopen: bool,
    tools: str | None,
    as_json: bool,
    everywhere: bool,
    limit: int | None,
    **which: Any,
) -> None:
    """Find a conversation and go on with it.

    QUERY is its id, the beginning of it, its number in the last list, words of its title and
    summary, or words that were said in it. In a terminal it is reopened in an AI tool, where words
    after `--` go to, or in `spawn`, if it was had there; without a terminal, or inside a tool, what
    an agent needs to go on with it is printed.
    """
    if listing or not (query or last or context or (can_ask() and not as_json)):
        _list(as_json, everywhere=everywhere, limit=limit, words=" ".join(query), **which)
        return
    if not (query or last or can_ask()):
        raise click.UsageError("say which conversation: its id, words of its title, or --last")
    if query and last:
        raise click.UsageError("give a query or --last, not both")
    if context and reopen:
        raise click.UsageError("--context goes on with nothing, so --reopen has no place beside it")
    from cortext.cli import resume_actions  # 80 modules that --list does not need

    row = resume_actions.find_row(query, last=last, everywhere=everywhere, which=which)
    resume_actions.resume(
        row,
        tool=tool,
        fork=fork,
        printing=printing,
        context=context,
        budget=budget,
        reopen=reopen,
        tools=tools,
        as_json=as_json,
        extra=click.get_current_context().meta.get(_EXTRA, ()),
    )


def _list(as_json: bool, *, everywhere: bool, limit: int | None, **options: Any) -> None:
    which = wanted(**options, with_session=True)
    if as_json:
        print_json(rows_as_json(list_here(everywhere=everywhere, wanted=which, limit=limit)))
    else:
        show_resumable(which, everywhere=everywhere, limit=limit)
