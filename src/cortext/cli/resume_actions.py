"""The actions of `cortext resume`: reopen a conversation in a tool, or print its briefing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.common_options import print_json
from cortext.cli.conversation_choice import ask, choose
from cortext.cli.list_options import wanted
from cortext.cli.terminal_text import can_ask, clean, say
from cortext.cli.views.list_view import say_nothing_to_resume, say_paused, update_in_background
from cortext.config import Config
from cortext.errors import CortextError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.agent_briefing import (
    WAS_COMPLETE,
    Briefing,
    activate,
    configured_servers,
    make_briefing,
    refuse_complete,
)
from cortext.tools.launch_plans import has_command
from cortext.tools.running_sessions import live_sessions
from cortext.tools.slash_command_files import tools_with_commands
from cortext.tools.surrounding_session import here


def find_row(
    words: tuple[str, ...],
    *,
    last: bool,
    everywhere: bool,
    which: dict[str, Any],
    write: bool = True,
) -> ConversationRow:
    """Return the conversation to resume.

    `words` are its id or words of its title. Without words, return the latest conversation if
    `last` is True, and otherwise ask the user to choose. `which` has the values of the options that
    filter the list. If `write` is False, do not save new messages in conversations, and do not
    pause idle conversations.
    """
    if words:
        return choose(
            " ".join(words),
            everywhere=everywhere,
            forgiving=True,
            wanted=wanted(**which),
            pause=write,
        )
    return _choose_resumable(last, everywhere, which, write=write)


def resume(
    row: ConversationRow,
    *,
    tool: str | None,
    fork: bool,
    printing: bool,
    write: bool,
    context: bool,
    budget: int | None,
    reopen: bool,
    tools: str | None,
    as_json: bool,
    extra: tuple[str, ...],
) -> None:
    """Reopen a conversation in an AI tool, or print its briefing.

    A briefing is a text that tells an agent the history of a conversation. Print the briefing if
    `context` or `as_json` is True, or if no tool can be started. If `printing` is True, print only
    the command line of the tool, as text or as JSON.

    Args:
        row: The conversation.
        tool: The tool to use, or None for the default.
        fork: Whether to continue in a copy.
        printing: Whether to print the tool's command line and not run it.
        write: Whether to write the session that the printed command line needs, if it is missing.
        context: Whether to print only the briefing.
        budget: The maximum number of characters of the history, or None for the default.
        reopen: Whether a completed conversation may be resumed without a question.
        tools: The names of the agent's tools (functions that it can call), separated by commas.
        as_json: Whether to print JSON.
        extra: Further arguments for the AI tool.
    """
    is_briefing = context or (as_json and not printing)
    notes: list[str] = []
    if printing or not is_briefing:
        from cortext.cli import tool_reopening  # loads 30 modules that --context does not need

        if tool_reopening.continues_in_spawn(row, tool, fork=fork) and (
            printing or tool_reopening.can_talk()
        ):
            if not printing:
                tool_reopening.continue_spawned(row)
            tool_reopening.print_plan(tool_reopening.plan_spawned(row), as_json=as_json)
            return
        if printing or tool_reopening.can_launch(tool):
            prepared = tool_reopening.reopen_in_tool(
                row,
                tool,
                budget,
                fork=fork,
                printing=printing,
                write=write,
                reopen=reopen,
                extra=extra,
            )
            tool_reopening.print_plan(prepared, as_json=as_json)
            return
        notes = tool_reopening.explain_no_launch(tool)
    briefing = partial(_make_briefing, budget=budget, tools=tools, tool=tool or "")
    _print_briefing(row, briefing, notes, context=context, reopen=reopen, as_json=as_json)


def history_budget(budget: int | None) -> int:
    """Return how many characters of the history a briefing may contain.

    `budget` is the value of the user's option. If it is None, return the setting `resume.budget`.
    """
    return budget or int(Config.load(paths.workspace_root())["resume.budget"])


def confirm_reopening(row: ConversationRow, *, reopen: bool) -> bool:
    """Ask whether to resume a completed conversation, and return True if the user agrees.

    If the user declines, exit with code 1. Raises CortextError if there is no terminal to ask on.
    If `reopen` is True, or if the conversation is not completed, return `reopen` without a
    question.
    """
    if row.status == "completed" and not reopen and can_ask():
        reopen = click.confirm("This conversation is marked complete. Resume it anyway?", err=True)
        if not reopen:
            say("Nothing was done.")
            raise click.exceptions.Exit(1)
    refuse_complete(row, reopen=reopen)
    return reopen


def _print_briefing(
    row: ConversationRow,
    brief: Callable[[ConversationRow], Briefing],
    notes: Sequence[str],
    *,
    context: bool,
    reopen: bool,
    as_json: bool,
) -> None:
    """Print the briefing of a conversation: the text with which an agent continues it.

    `brief` makes the briefing. `notes` say why no tool was started. Unless `context` is True, also
    make the conversation active. `reopen` allows this for a completed conversation.
    """
    reopening = context or confirm_reopening(row, reopen=reopen)
    for note in notes:
        say(note)
    row = capture_pending(row)
    briefing = brief(row)
    reason = "" if context else activate(row, reopen=reopening)
    for warning in briefing.warnings:
        if warning != WAS_COMPLETE or context or reopen:
            click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if reason:
        click.echo(f"warning: {reason}", err=True)
    if as_json:
        print_json(briefing._asdict())
        return
    _print_text(briefing)
    if not context:
        has_slash = any(has_command(tool, paths.current_folder()) for tool in tools_with_commands())
        other_way = ", or type /workspace.resume in your AI tool" if has_slash else ""
        click.echo(f"\nGive this text to your agent{other_way}.", err=True)


def _choose_resumable(
    last: bool, everywhere: bool, which: dict[str, Any], *, write: bool
) -> ConversationRow:
    """Return the latest conversation if `last` is True; otherwise ask the user to choose.

    Only conversations that can be resumed count. `which` has the values of the options that filter
    the list. Exit with code 3 if the list is empty.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    resumable = wanted(**which, with_session=True)
    rows = conversations.list(resumable, capture=write).rows
    update_in_background(conversations)
    if not rows:
        say_nothing_to_resume(resumable, everywhere=everywhere)
        raise click.exceptions.Exit(3)
    row = _first_not_open(rows) if last else ask(rows)
    if write:
        say_paused(
            conversations, [each for each in conversations.idle if each.identity == row.identity]
        )
    return row


def _first_not_open(rows: list[ConversationRow]) -> ConversationRow:
    """Return the first conversation that is not open in a running tool or in `spawn`.

    Raises CortextError if all conversations are open.
    """
    live = {id for _, id in live_sessions()}
    for row in rows:
        is_open = row.tool == AUR and row.status == "active"
        if not (is_open or live.intersection((*row.session_ids, row.key))):
            return row
    raise CortextError(
        "all these conversations are open elsewhere",
        hint="to continue in a copy: `cortext resume ID --fork`",
    )


def _make_briefing(
    row: ConversationRow, *, budget: int | None, tools: str | None, tool: str
) -> Briefing:
    names = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    servers = partial(_configured_servers, row, tool)
    return make_briefing(row, budget=history_budget(budget), tools=names, servers=servers)


def _configured_servers(row: ConversationRow, tool: str) -> list[str]:
    """Return the names of the MCP servers in the settings of a tool.

    If `tool` is "", use the AI tool that runs this process. If no AI tool runs this process, use
    the last tool of the conversation.
    """
    if not tool and (inside := here()):
        return configured_servers(row, inside.tool, paths.current_folder())
    return configured_servers(row, tool)


def _print_text(briefing: Briefing) -> None:
    if briefing.command:
        click.echo(clean(briefing.command))
    document = clean(briefing.document, lines=False)
    click.echo(f"The ID of this conversation: {briefing.id}")
    if document:
        click.echo(f"The markdown of this conversation: {document}\n")
    else:
        click.echo("This conversation has no markdown file.\n")
    click.echo(briefing.context)
    click.echo(briefing.history)
