"""What `cortext resume` does with one conversation: reopen it in a tool, or print its briefing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.common_options import print_json
from cortext.cli.list_options import wanted
from cortext.cli.select_conversation import ask, choose
from cortext.cli.terminal_text import can_ask, clean, say
from cortext.cli.views.list_view import keep_up, say_nothing_to_resume, say_paused
from cortext.config import Config
from cortext.errors import CortextError
from cortext.features.capture.capture import capture_pending
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.agent_briefing import (
    WAS_COMPLETE,
    Briefing,
    activate,
    configured_servers,
    make_briefing,
    refuse_complete,
)
from cortext.tools.running_sessions import live_sessions
from cortext.tools.tool_context import here


def find_row(
    words: tuple[str, ...], *, last: bool, everywhere: bool, which: dict[str, Any]
) -> ConversationRow:
    """Return the conversation to resume.

    `words` are its id or words of its title. Without words, return the latest conversation if
    `last` is set, and ask the user otherwise. `which` holds the options that filter the list.
    """
    if words:
        return choose(
            " ".join(words), everywhere=everywhere, forgiving=True, wanted=wanted(**which)
        )
    return _pick(last, everywhere, which)


def resume(
    row: ConversationRow,
    *,
    tool: str | None,
    fork: bool,
    printing: bool,
    context: bool,
    budget: int | None,
    reopen: bool,
    tools: str | None,
    as_json: bool,
    extra: tuple[str, ...],
) -> None:
    """Reopen a conversation in a tool, or print text for an agent that continues it.

    With `printing`, print the tool's command line. With `context`, with `as_json`, or if no tool
    can be started, print the briefing: the text that tells an agent the history of the
    conversation. `tools` names the tools that the agent has now, separated by commas.
    """
    reading = context or (as_json and not printing)
    if printing or not reading:
        from cortext.cli import launch_tool  # 30 modules that --list and --context do not need

        if launch_tool.is_talk(row, tool, fork=fork) and (printing or launch_tool.can_talk()):
            if not printing:
                launch_tool.talk_on(row)
            launch_tool.print_plan(launch_tool.talk_plan(row), as_json=as_json)
            return
        if printing or launch_tool.can_launch(tool):
            ready = launch_tool.reopen_in_tool(
                row, tool, budget, fork=fork, printing=printing, reopen=reopen, extra=extra
            )
            launch_tool.print_plan(ready, as_json=as_json)
            return
        if tool:
            say(f"{tool} is not started: that takes a terminal; `--print` prints its command line")
    briefing = partial(_brief, budget=budget, tools=tools, tool=tool or "")
    _tell(row, briefing, context=context, reopen=reopen, as_json=as_json)


def history_budget(budget: int | None) -> int:
    """Return how many characters of the history go into a briefing.

    `budget` is the user's option; without it, the setting `resume.budget` decides.
    """
    return budget or int(Config.load(paths.workspace_root())["resume.budget"])


def confirm_reopening(row: ConversationRow, *, reopen: bool) -> bool:
    """Return whether a completed conversation may become active again.

    `reopen` is the user's option. Without it, ask the user, and exit if the user declines. Raises
    CortextError if the conversation is completed and there is no terminal to ask on.
    """
    if row.status == "completed" and not reopen and can_ask():
        reopen = click.confirm("it was marked complete; go on with it all the same?", err=True)
        if not reopen:
            say("nothing was done")
            raise click.exceptions.Exit(1)
    refuse_complete(row, reopen=reopen)
    return reopen


def _tell(
    row: ConversationRow,
    brief: Callable[[ConversationRow], Briefing],
    *,
    context: bool,
    reopen: bool,
    as_json: bool,
) -> None:
    """Print the briefing that `brief` returns.

    Unless `context` is set, also make the conversation active.
    """
    reopening = context or confirm_reopening(row, reopen=reopen)
    row = capture_pending(row)
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
    """Return the latest resumable conversation if `last` is set; otherwise ask the user.

    Exit with 3 if there is none.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    resumable = wanted(**which, with_session=True)
    rows = conversations.list(resumable, capture=True).rows
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
    """Return the first of the rows that is not open in a tool or in `spawn` now.

    Raises CortextError if all of them are open.
    """
    live = {id for _, id in live_sessions()}
    for row in rows:
        is_open = row.tool == AUR and row.status == "active"
        if not (is_open or live.intersection((*row.session_ids, row.key))):
            return row
    raise CortextError("all of them are open elsewhere", hint="`--fork` with an ID takes a copy")


def _brief(row: ConversationRow, *, budget: int | None, tools: str | None, tool: str) -> Briefing:
    names = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    servers = partial(_servers, row, tool)
    return make_briefing(row, budget=history_budget(budget), tools=names, servers=servers)


def _servers(row: ConversationRow, tool: str) -> list[str]:
    """Return the MCP servers that are configured for a conversation in a tool.

    Without `tool`, use the tool in which this process runs.
    """
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
