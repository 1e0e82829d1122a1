"""`cortext resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cortext import paths
from cortext.cli.filters import filters, wanted
from cortext.cli.lists import as_json as rows_as_json
from cortext.cli.lists import list_here, say_nothing_to_resume, say_paused, show_resumable
from cortext.cli.options import complete_id, json_option, plain_words, print_json
from cortext.cli.reopening import (
    can_launch,
    command_line,
    get_ready,
    launch,
    pick_tool,
    say,
    tool_option,
)
from cortext.cli.text import clean

if TYPE_CHECKING:
    from cortext.app.resume import Briefing
    from cortext.index.listed import Listed

_EXTRA = "cortext.resume.extra"


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
@click.option("-c", "--last", is_flag=True, help="The latest one here.")
@tool_option
@click.option("--fork", is_flag=True, help="Go on in a copy, also of one that is open elsewhere.")
@click.option("--print", "printing", is_flag=True, help="Print the command line; start nothing.")
@click.option("--list", "listing", is_flag=True, help="Show what can be resumed.")
@click.option("--context", is_flag=True, help="Print the briefing for an agent; changes nothing.")
@click.option(
    "--budget",
    type=click.IntRange(min=4000),
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

    QUERY is its id, the beginning of it, its number in the last list, or words of its title and
    summary. In a terminal it is reopened in an AI tool, where words after `--` go to; without one,
    or inside a tool, what an agent needs to go on with it is printed.
    """
    from cortext.cli.choose import can_ask, choose

    if listing or not (query or last or context or (can_ask() and not as_json)):
        _list(as_json, everywhere=everywhere, limit=limit, words=" ".join(query), **which)
        return
    if not (query or last or can_ask()):
        raise click.UsageError("say which conversation: its id, words of its title, or --last")
    if query and last:
        raise click.UsageError("give a query or --last, not both")
    if context and reopen:
        raise click.UsageError("--context changes nothing, so --reopen has no place beside it")
    row = (
        choose(" ".join(query), everywhere=everywhere, forgiving=True, wanted=wanted(**which))
        if query
        else _pick(last, everywhere, which)
    )
    if printing or (not (context or as_json) and can_launch(tool)):
        extra = click.get_current_context().meta.get(_EXTRA, ())
        _reopen(row, tool, budget, fork=fork, printing=printing, reopen=reopen, extra=extra)
        return
    briefing = _brief(row, budget, tools)
    for warning in briefing.warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if not context:
        _activate(row, reopen=reopen)
    if as_json:
        print_json(briefing._asdict())
        return
    _print(briefing)
    if not context:
        click.echo("\nGive this to your agent, or type /workspace.resume in it.", err=True)


def _pick(last: bool, everywhere: bool, which: dict[str, Any]) -> Listed:
    """The latest one, or the one that a person chooses."""
    from cortext.app.conversations import Conversations
    from cortext.cli.choose import ask

    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    rows = conversations.list(wanted(**which, with_session=True)).rows
    if not rows:
        say_nothing_to_resume()
        raise click.exceptions.Exit(3)
    row = _latest(rows) if last else ask(rows)
    say_paused(conversations, [each for each in conversations.idle if each[:2] == row[:2]])
    return row


def _latest(rows: list[Listed]) -> Listed:
    """The newest that is not going on in a tool right now."""
    from cortext.bridges.live import live_sessions
    from cortext.errors import CortextError

    live = {id for _, id in live_sessions()}
    for row in rows:
        if not live.intersection((*row.native, row.key)):
            return row
    raise CortextError("all of them are open elsewhere", hint="`--fork` with an ID takes a copy")


def _reopen(
    row: Listed,
    tool: str | None,
    budget: int | None,
    *,
    fork: bool,
    printing: bool,
    reopen: bool,
    extra: tuple[str, ...],
) -> None:
    """In a tool, or as the command line that does it."""
    chosen = pick_tool(row, tool)
    _activate(row, reopen=reopen)
    prepared = get_ready(row, chosen, budget=_most(budget), fork=fork, extra=extra)
    if not printing:
        launch(prepared)
    for note in prepared.notes:
        say(note)
    click.echo(command_line(prepared.plan))


def _most(budget: int | None) -> int:
    from cortext.config import Config

    return budget or int(Config.load(paths.workspace_root())["resume.budget"])


def _brief(row: Listed, budget: int | None, tools: str | None) -> Briefing:
    from cortext.app.resume import brief

    names = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    return brief(row, budget=_most(budget), tools=names)


def _activate(row: Listed, *, reopen: bool) -> None:
    from cortext.app.resume import activate
    from cortext.cli.choose import can_ask

    if row.status == "completed" and not reopen and can_ask():
        reopen = click.confirm("it was marked complete; go on with it all the same?", err=True)
        if not reopen:
            click.echo("nothing was done", err=True)
            raise click.exceptions.Exit(1)
    activate(row, reopen=reopen)


def _print(briefing: Briefing) -> None:
    if briefing.command:
        click.echo(clean(briefing.command))
    document = clean(briefing.document, lines=False) or "there is none yet"
    click.echo(f"The ID of this conversation: {briefing.id}")
    click.echo(f"The markdown of this conversation: {document}\n")
    click.echo(briefing.context)
    click.echo(briefing.history)


def _list(as_json: bool, *, everywhere: bool, limit: int | None, **options: Any) -> None:
    which = wanted(**options, with_session=True)
    if as_json:
        print_json(rows_as_json(list_here(everywhere=everywhere, wanted=which, limit=limit)))
    else:
        show_resumable(which, everywhere=everywhere, limit=limit)
