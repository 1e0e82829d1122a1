"""The command `cortext resume`: find a conversation and continue it."""

from __future__ import annotations

from typing import Any

import click

from cortext.cli.common_options import Number, json_option, print_json, query_words
from cortext.cli.conversation_completion import complete_id
from cortext.cli.list_options import filters, tool_option, wanted
from cortext.cli.terminal_text import can_ask
from cortext.cli.views.list_view import as_json as rows_as_json
from cortext.cli.views.list_view import list_here, show_resumable

_EXTRA = "cortext.resume.extra"
_PRINT_HELP = (
    "Print the command line that resumes the conversation, and start nothing. This changes no "
    "conversation. If the tool does not have the session yet, the command fails and asks for "
    "--write."
)
_WRITE_HELP = (
    "With --print, also write the session if the tool does not have it yet. If the session "
    "belongs to another tool, cortext first saves it as a conversation with a new id."
)
_CONTEXT_HELP = (
    "Print a briefing: a text with which any agent can continue. The conversation keeps its status "
    "and its time of last activity."
)


class _ResumeCommand(click.Command):
    """The click command `resume`, with a special rule for words after `--`.

    If a query or `--last` comes before `--`, the words after `--` are arguments for the AI tool.
    Otherwise these words are the query.
    """

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


@click.command("resume", cls=_ResumeCommand, context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, shell_complete=complete_id, callback=query_words)
@click.option(
    "-c",
    "--last",
    is_flag=True,
    help="Resume the most recent conversation here that is not open elsewhere.",
)
@tool_option
@click.option(
    "--fork",
    is_flag=True,
    help="Continue in a copy, even if the conversation is open elsewhere.",
)
@click.option("--print", "printing", is_flag=True, help=_PRINT_HELP)
@click.option("--write", is_flag=True, help=_WRITE_HELP)
@click.option("--list", "listing", is_flag=True, help="List the conversations that can be resumed.")
@click.option("--context", is_flag=True, help=_CONTEXT_HELP)
@click.option(
    "--budget",
    type=Number(min=4000),
    help="Limit the history to about this many characters.  [default: the setting resume.budget]",
)
@click.option("--reopen", is_flag=True, help="Resume it even if it is marked complete.")
@click.option(
    "--tools",
    metavar="NAMES",
    help="The names of your agent's tools, separated by commas. The briefing warns about tools "
    "that the agent had before and lacks now.",
)
@filters
@json_option
def command(
    query: tuple[str, ...],
    last: bool,
    tool: str | None,
    fork: bool,
    printing: bool,
    write: bool,
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
    """Find a conversation and resume it.

    QUERY is an id, the beginning of an id, a number that `cortext list` printed, words of the title
    or summary, or words from the messages.

    In a terminal, the conversation opens in an AI tool. Words after `--` are passed to the tool. A
    session of `spawn` continues in `spawn`. Without a terminal, or inside an AI tool, the command
    prints a briefing: the text that an agent needs to continue the conversation.
    """
    everywhere = everywhere or bool(which["folder"])
    if listing or not (query or last or context or (can_ask() and not as_json)):
        _list(as_json, everywhere=everywhere, limit=limit, words=" ".join(query), **which)
        return
    if not (query or last or can_ask()):
        raise click.UsageError("name a conversation by its id or title, or use --last")
    if query and last:
        raise click.UsageError("give a query or --last, not both")
    if write and not printing:
        raise click.UsageError("--write is only for --print")
    if context and reopen:
        raise click.UsageError(
            "--context only prints a briefing and reopens nothing: leave out --reopen"
        )
    from cortext.cli import resume_actions  # loads 80 modules that --list does not need

    write = write or not printing
    row = resume_actions.find_row(query, last=last, everywhere=everywhere, which=which, write=write)
    resume_actions.resume(
        row,
        tool=tool,
        fork=fork,
        printing=printing,
        write=write,
        context=context,
        budget=budget,
        reopen=reopen,
        tools=tools,
        as_json=as_json,
        extra=click.get_current_context().meta.get(_EXTRA, ()),
    )


def _list(as_json: bool, *, everywhere: bool, limit: int | None, **options: Any) -> None:
    list_filter = wanted(**options, with_session=True)
    if as_json:
        print_json(rows_as_json(list_here(everywhere=everywhere, wanted=list_filter, limit=limit)))
    else:
        show_resumable(list_filter, everywhere=everywhere, limit=limit)
