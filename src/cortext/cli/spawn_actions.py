"""The actions of the command `spawn`: delete sessions, and start or continue a session."""

from __future__ import annotations

import os

import click

from cortext.catalog.row import ConversationRow
from cortext.cli.repl import run
from cortext.cli.select_conversation import ask
from cortext.cli.terminal_text import can_ask, to_edge
from cortext.cli.terminal_text import clean as shown
from cortext.cli.views.bar_chart import counted
from cortext.durability.trash_folder import TrashEntry
from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.features.spawn.agents import DEFAULT, Agent, agent_of, get_agent
from cortext.features.spawn.cleanup import clean, delete
from cortext.features.spawn.run_agent import ECHO, VARIABLE, Runner, choose_runner
from cortext.features.spawn.session_files import open_store, recover, session_path
from cortext.features.spawn.spawn_list import SpawnMatches, find_spawned, list_spawned
from cortext.features.spawn.spawn_sessions import Spawned
from cortext.features.spawn.spawn_settings import SpawnSettings
from cortext.stores.session_file_names import is_id
from cortext.tools.launch import installed
from cortext.tools.registry import is_tool

_SOME = 10


def delete_one(id: str) -> int:
    """Delete the session with exactly this id.

    Words of a title are not accepted, because the command does not ask for confirmation.
    """
    if not _is_session(id):
        raise not_found(id)
    _say_deleted(id, delete(id))
    return 0


def _say_deleted(id: str, entry: TrashEntry) -> None:
    click.echo(f"Session {id} deleted.")
    click.echo(f"hint: `cortext trash restore {entry.id[:8]}` restores it", err=True)


def clean_old(days: float) -> int:
    done = clean(days, on_gone=_say_gone)
    for kept in done.kept:
        click.echo(f"kept: {shown(kept, lines=False)}", err=True)
    click.echo(f"{counted(len(done.gone), 'session')} deleted.")
    if done.gone:
        click.echo("hint: `cortext trash list` shows what can be restored", err=True)
    return 0


def _say_gone(entry: TrashEntry) -> None:
    # Print each at once, because thousands take a while.
    click.echo(f"deleted: {shown(entry.label, lines=False)}", err=True)


def begin(id: str | None, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """Start a session, or continue the existing session with this id.

    Return the exit code. `agent` and `tool` are the names that the user gave, or None for the
    defaults.
    """
    if id and os.path.lexists(session_path(id)):
        return _go_on(id, agent, tool, settings)
    cwd = os.getcwd()
    who = get_agent(agent or DEFAULT, cwd)
    runner = choose_runner(tool, who, settings)
    session = Spawned.begin(
        who.name, id=id or "", tool=runner.name, cwd=cwd, max_tokens=settings.max_tokens
    )
    return run(session, runner, who, settings, cwd, tool or "")


def go_on(given: str, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """Continue the session that `given` names, by its id or by words. Return the exit code."""
    # A full id is never ambiguous, and needs no search through all sessions.
    id = given.strip() if _is_session(given.strip()) else find(given).key
    return _go_on(id, agent, tool, settings)


def _is_session(id: str) -> bool:
    return is_id(id) and open_store().exists(id)


def go_on_with_last(agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """Continue the latest session that has messages and is not open elsewhere.

    Only sessions of `agent` count, if it is given. Return the exit code. Raises CortextError if
    there is no such session.
    """
    for row in list_spawned(agent):
        if row.status != "active" and not row.is_empty:
            return _go_on(row.key, agent, tool, settings)
    whose = f" of the agent {agent}" if agent else ""
    raise CortextError(f"there is no session{whose} to go on with", hint="-i begins one")


def _go_on(id: str, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    cwd = os.getcwd()
    asked = get_agent(agent, cwd) if agent else None
    session = _reopen(id, settings)
    try:
        who = asked or _agent_of(session.agent, cwd)
        runner = _runner_of(session, tool, who, settings)
        if agent and agent != session.agent:
            session.set_agent(agent)
        session.set_tool(runner.name)
    except BaseException:
        session.close(completed=session.was == "completed")
        raise
    return run(session, runner, who, settings, cwd, tool or "")


def _runner_of(session: Spawned, tool: str | None, agent: Agent, settings: SpawnSettings) -> Runner:
    """Return the runner, which is the tool or command that answers, for an existing session.

    The tool that the user names comes first, then the tool that the session used before. A command
    that the session file names is never run: the user must name it again.
    """
    asked = tool or os.environ.get(VARIABLE) or settings.tool
    if asked or session.tool in ("", ECHO) or session.tool in installed():
        return choose_runner(asked or session.tool or None, agent, settings)
    runner = choose_runner(None, agent, settings)
    if runner.name == ECHO:
        why = "is not installed" if is_tool(session.tool) else "is a command to be named again"
        raise CortextError(
            f"this session was had with {session.tool}, which {why}",
            hint="--tool says what goes on with it",
        )
    text = f"this session was had with {session.tool}; {runner.name} goes on with it"
    click.echo(f"note: {shown(text, lines=False)}", err=True)
    return runner


def _agent_of(name: str, cwd: str) -> Agent:
    agent, warning = agent_of(name, cwd)
    if warning:
        click.echo(f"warning: {shown(warning, lines=False)}", err=True)
    return agent


def find(given: str) -> ConversationRow:
    """Return the session of `spawn` that `given` names.

    If several match, or `given` is empty, ask the user. If none matches, print the latest sessions
    and exit.
    """
    rows, note = find_spawned(given) if given.strip() else SpawnMatches(list_spawned()[:_SOME])
    if note:
        click.echo(note, err=True)
    if len(rows) == 1 and given.strip():
        return rows[0]
    if rows:
        return ask(rows, given)
    raise not_found(given)


def not_found(given: str) -> click.exceptions.Exit:
    """Print that there is no such session, and the latest sessions.

    Return the exception to raise.
    """
    click.echo(f"Session not found: {shown(given, lines=False)}", err=True)
    known = list_spawned()
    if known:
        click.echo("Available sessions:", err=True)
    for row in known[:_SOME]:
        click.echo(to_edge(f"  {row.key}  {row.title}", err=True), err=True)
    if len(known) > _SOME:
        click.echo(f"  and {len(known) - _SOME} more: --list-sessions shows all", err=True)
    return click.exceptions.Exit(1)


def _reopen(id: str, settings: SpawnSettings) -> Spawned:
    """Open a session.

    If its file is damaged, ask the user whether to delete or recover the session. Exit if the user
    chooses not to recover it.
    """
    try:
        return Spawned.reopen(id, max_tokens=settings.max_tokens)
    except SessionNotFoundError:
        raise not_found(id) from None
    except SessionCorruptedError as error:
        if not can_ask():
            error.hint = "in a terminal you can delete or recover it; the file is as it was"
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
        _say_deleted(id, delete(id))
    if answer != "r":
        raise click.exceptions.Exit(0 if answer == "d" else 5)
    done = recover(id)
    click.echo(
        f"turns kept: {done.kept}; lines that could not be read: {done.lost}; the file as it was: "
        f"{done.aside}",
        err=True,
    )
    return Spawned.reopen(id, max_tokens=settings.max_tokens)
