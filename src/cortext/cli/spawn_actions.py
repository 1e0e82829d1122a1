"""The actions of the command `spawn`: delete sessions, and start or continue a session."""

from __future__ import annotations

import os

import click

from cortext.catalog.row import ConversationRow
from cortext.cli.conversation_choice import ask
from cortext.cli.repl import run
from cortext.cli.terminal_text import can_ask, cut_to_terminal
from cortext.cli.terminal_text import clean as shown
from cortext.cli.views.bar_chart import counted
from cortext.durability.trash_folder import TrashEntry
from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.features.spawn.agent_definitions import DEFAULT, Agent, agent_of, get_agent
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.delete_spawned import clean, delete
from cortext.features.spawn.find_spawned import SpawnMatches, find_spawned
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.run_agent import ECHO, VARIABLE, Runner, choose_runner
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_locks_and_recovery import open_store, recover, session_path
from cortext.stores.ids_in_folder import is_id
from cortext.tools.launch_plans import installed
from cortext.tools.registry import is_tool

_MAX_LISTED = 10


def delete_one(id: str) -> int:
    """Move the session with exactly this id to the trash, and return the exit code.

    Only a full id is accepted, because the command does not ask for confirmation.
    """
    if not _is_session(id):
        raise not_found(id)
    _print_restorable(id, delete(id))
    return 0


def _print_restorable(id: str, entry: TrashEntry) -> None:
    click.echo(f"Session {id} deleted.")
    click.echo(f"hint: to restore it: `cortext trash restore {entry.id[:8]}`", err=True)


def delete_old_sessions(days: float) -> int:
    result = clean(days, on_gone=_print_deleted)
    for line in result.kept:
        click.echo(f"not deleted: {shown(line, lines=False)}", err=True)
    click.echo(f"{counted(len(result.gone), 'session')} deleted.")
    if result.gone:
        click.echo("hint: to list what can be restored: `cortext trash list`", err=True)
    return 0


def _print_deleted(entry: TrashEntry) -> None:
    # Print each deletion at once, because thousands of deletions take a while.
    click.echo(f"deleted: {shown(entry.label, lines=False)}", err=True)


def begin(id: str | None, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """Start a session, or continue the session with this id if it exists. Return the exit code.

    `agent` and `tool` are the names that the user gave, or None for the defaults.
    """
    if id and os.path.lexists(session_path(id)):
        return _continue(id, agent, tool, settings)
    cwd = os.getcwd()
    who = get_agent(agent or DEFAULT, cwd)
    runner = choose_runner(tool, who, settings)
    session = SpawnSession.begin(
        who.name, id=id or "", tool=runner.name, cwd=cwd, max_tokens=settings.max_tokens
    )
    return run(session, runner, who, settings, cwd, tool or "")


def continue_session(
    given: str, agent: str | None, tool: str | None, settings: SpawnSettings
) -> int:
    """Continue the session with the id or title words `given`, and return the exit code."""
    # A full id is never ambiguous, and needs no search through all sessions.
    id = given.strip() if _is_session(given.strip()) else find(given).key
    return _continue(id, agent, tool, settings)


def _is_session(id: str) -> bool:
    return is_id(id) and open_store().exists(id)


def continue_last(agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """Continue the latest session that has messages and is not open now. Return the exit code.

    If `agent` is given, continue the latest session of that agent. Raises CortextError if there is
    no such session.
    """
    for row in list_spawned(agent):
        if row.status != "active" and not row.is_empty:
            return _continue(row.key, agent, tool, settings)
    whose = f" of the agent {agent}" if agent else ""
    raise CortextError(f"no session{whose} to continue", hint="to start a session, use -i")


def _continue(id: str, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    cwd = os.getcwd()
    asked = get_agent(agent, cwd) if agent else None
    session = _reopen(id, settings)
    try:
        who = asked or _find_agent(session.agent, cwd)
        runner = _choose_runner_for(session, tool, who, settings)
        if agent and agent != session.agent:
            session.set_agent(agent)
        session.set_tool(runner.name)
    except BaseException:
        session.close(completed=session.was == "completed")
        raise
    return run(session, runner, who, settings, cwd, tool or "")


def _choose_runner_for(
    session: SpawnSession, tool: str | None, agent: Agent, settings: SpawnSettings
) -> Runner:
    """Return the runner (the tool or command that answers) for an existing session.

    Prefer the tool that the user named, then the tool that the session used before, then the
    default. For safety, a shell command from the session file is never run: the user must type it
    again. Raises CortextError if there is no tool to use.
    """
    asked = tool or os.environ.get(VARIABLE) or settings.tool
    if asked or session.tool in ("", ECHO) or session.tool in installed():
        return choose_runner(asked or session.tool or None, agent, settings)
    runner = choose_runner(None, agent, settings)
    if runner.name == ECHO:
        if is_tool(session.tool):
            raise CortextError(
                f"this session used {session.tool}, which is not installed",
                hint="install it, or choose another tool: --tool NAME",
            )
        raise CortextError(
            f"this session used the command {session.tool}",
            hint="give the command again: --tool COMMAND",
        )
    text = f"this session used {session.tool}; continuing with {runner.name}"
    click.echo(f"note: {shown(text, lines=False)}", err=True)
    return runner


def _find_agent(name: str, cwd: str) -> Agent:
    agent, warning = agent_of(name, cwd)
    if warning:
        click.echo(f"warning: {shown(warning, lines=False)}", err=True)
    return agent


def find(given: str) -> ConversationRow:
    """Return the session of `spawn` with the id or title words `given`.

    If several sessions match, or if `given` is empty, ask the user to choose. If no session
    matches, print the latest sessions and exit.
    """
    rows, note = (
        find_spawned(given) if given.strip() else SpawnMatches(list_spawned()[:_MAX_LISTED])
    )
    if note:
        click.echo(note, err=True)
    if len(rows) == 1 and given.strip():
        return rows[0]
    if rows:
        return ask(rows, given)
    raise not_found(given)


def not_found(given: str) -> click.exceptions.Exit:
    """Print that the session `given` does not exist, and list the latest sessions.

    Return the exception that the caller raises to exit.
    """
    click.echo(f"Session not found: {shown(given, lines=False)}", err=True)
    known = list_spawned()
    if known:
        click.echo("Available sessions:", err=True)
    for row in known[:_MAX_LISTED]:
        click.echo(cut_to_terminal(f"  {row.key}  {row.title}", err=True), err=True)
    if len(known) > _MAX_LISTED:
        click.echo(f"  and {len(known) - _MAX_LISTED} more; to list all: --list-sessions", err=True)
    return click.exceptions.Exit(1)


def _reopen(id: str, settings: SpawnSettings) -> SpawnSession:
    """Open an existing session.

    If its file is damaged, ask the user whether to delete or recover the session. Exit unless the
    user recovers it.
    """
    try:
        return SpawnSession.reopen(id, max_tokens=settings.max_tokens)
    except SessionNotFoundError:
        raise not_found(id) from None
    except SessionCorruptedError as error:
        if not can_ask():
            error.hint = "run this in a terminal to delete or recover it; the file was not changed"
            raise
        click.echo(f"error: {shown(str(error), lines=False)}", err=True)
    answer = click.prompt(
        "[d]elete, [r]ecover, [q]uit",
        type=click.Choice(("d", "r", "q"), case_sensitive=False),
        default="q",
        show_choices=False,
        err=True,
    )
    if answer == "d":
        _print_restorable(id, delete(id))
    if answer != "r":
        raise click.exceptions.Exit(0 if answer == "d" else 5)
    done = recover(id)
    click.echo(
        f"Recovered {counted(done.kept, 'turn')}; {counted(done.lost, 'line')} could not be read. "
        f"The original file is now {done.aside}",
        err=True,
    )
    return SpawnSession.reopen(id, max_tokens=settings.max_tokens)
