"""`cortext resume`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cortext import paths
from cortext.catalog.row import AUR
from cortext.cli.common_options import Number, complete_id, json_option, plain_words, print_json
from cortext.cli.launch_tool import (
    can_launch,
    can_talk,
    command_line,
    is_talk,
    may_go_on,
    most_characters,
    reopen_in_tool,
    say,
    talk_on,
    talk_plan,
    tool_option,
)
from cortext.cli.list_options import filters, wanted
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import as_json as rows_as_json
from cortext.cli.views.list_view import (
    keep_up,
    list_here,
    say_nothing_to_resume,
    say_paused,
    show_resumable,
)

if TYPE_CHECKING:
    from cortext.catalog.row import ConversationRow
    from cortext.features.resume.agent_briefing import Briefing
    from cortext.features.resume.reopen import Prepared

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
    from cortext.cli.select_conversation import can_ask, choose

    if listing or not (query or last or context or (can_ask() and not as_json)):
        _list(as_json, everywhere=everywhere, limit=limit, words=" ".join(query), **which)
        return
    if not (query or last or can_ask()):
        raise click.UsageError("say which conversation: its id, words of its title, or --last")
    if query and last:
        raise click.UsageError("give a query or --last, not both")
    if context and reopen:
        raise click.UsageError("--context goes on with nothing, so --reopen has no place beside it")
    row = (
        choose(" ".join(query), everywhere=everywhere, forgiving=True, wanted=wanted(**which))
        if query
        else _pick(last, everywhere, which)
    )
    reading = context or (as_json and not printing)
    if is_talk(row, tool, fork=fork) and (printing or (not reading and can_talk())):
        if not printing:
            talk_on(row)
        _print_plan(talk_plan(row), as_json=as_json)
    elif printing or (not reading and can_launch(tool)):
        extra = click.get_current_context().meta.get(_EXTRA, ())
        ready = reopen_in_tool(
            row, tool, budget, fork=fork, printing=printing, reopen=reopen, extra=extra
        )
        _print_plan(ready, as_json=as_json)
    else:
        if tool and not reading:
            say(f"{tool} is not started: that takes a terminal; `--print` prints its command line")
        briefing = partial(_brief, budget=budget, tools=tools, tool=tool or "")
        _tell(row, briefing, context=context, reopen=reopen, as_json=as_json)


def _tell(
    row: ConversationRow,
    brief: Callable[[ConversationRow], Briefing],
    *,
    context: bool,
    reopen: bool,
    as_json: bool,
) -> None:
    """Print the briefing; unless it is for reading only, the conversation goes on by it."""
    from cortext.features.capture.capture_pending import take_in
    from cortext.features.resume.agent_briefing import WAS_COMPLETE, activate

    reopening = context or may_go_on(row, reopen=reopen)
    row = take_in(row)
    briefing = brief(row)
    fixed = "" if context else activate(row, reopen=reopening)
    for warning in briefing.warnings:
        if warning != WAS_COMPLETE or context or reopen:
            click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if fixed:
        click.echo(f"warning: {fixed}", err=True)
    if as_json:
        print_json(briefing._asdict())
        return
    _print(briefing)
    if not context:
        click.echo("\nGive this to your agent, or type /workspace.resume in it.", err=True)


def _pick(last: bool, everywhere: bool, which: dict[str, Any]) -> ConversationRow:
    """The latest one, or the one that a person chooses."""
    from cortext.cli.select_conversation import ask
    from cortext.features.listing.conversation_list import Conversations

    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    resumable = wanted(**which, with_session=True)
    rows = conversations.list(resumable).rows
    keep_up(conversations)
    if not rows:
        say_nothing_to_resume(resumable, everywhere=everywhere)
        raise click.exceptions.Exit(3)
    row = _latest(rows) if last else ask(rows)
    say_paused(
        conversations, [each for each in conversations.idle if each.identity == row.identity]
    )
    return row


def _latest(rows: list[ConversationRow]) -> ConversationRow:
    """The newest that is not going on in a tool right now."""
    from cortext.errors import CortextError
    from cortext.tools.running import live_sessions

    live = {id for _, id in live_sessions()}
    for row in rows:
        is_open = row.tool == AUR and row.status == "active"
        if not (is_open or live.intersection((*row.session_ids, row.key))):
            return row
    raise CortextError("all of them are open elsewhere", hint="`--fork` with an ID takes a copy")


def _print_plan(prepared: Prepared, *, as_json: bool) -> None:
    """What a person would type."""
    for note in prepared.notes:
        say(note)
    plan = prepared.plan
    if not as_json:
        click.echo(command_line(plan))
        return
    print_json(
        {
            "tool": plan.tool,
            "way": prepared.way,
            "session": prepared.id or None,
            "conversation": None if prepared.row.tool else prepared.row.key,
            "cwd": plan.cwd,
            "environment": dict(plan.environment),
            "command": plan.words,
        }
    )


def _brief(row: ConversationRow, *, budget: int | None, tools: str | None, tool: str) -> Briefing:
    from cortext.features.resume.agent_briefing import brief

    names = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    servers = partial(_servers, row, tool)
    return brief(row, budget=most_characters(budget), tools=names, servers=servers)


def _servers(row: ConversationRow, tool: str) -> list[str]:
    """Return the MCP servers of the named tool, or of the tool that this process runs in."""
    from cortext.features.resume.agent_briefing import configured_servers
    from cortext.tools.tool_context import here

    if not tool and (inside := here()):
        return configured_servers(row, inside.tool, paths.current_folder())
    return configured_servers(row, tool)


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
