"""What `spawn` does for a person: it lists, deletes, and talks."""

from __future__ import annotations

import os

import click

from cortext.app.spawn.agents import DEFAULT, Agent, UnknownAgentError, get_agent
from cortext.app.spawn.cleaning import clean, delete, told
from cortext.app.spawn.listing import find_spawned, list_spawned
from cortext.app.spawn.running import choose_runner
from cortext.app.spawn.sessions import Spawned, path_of, recover
from cortext.app.spawn.settings import SpawnSettings, load
from cortext.cli.choose import ask, can_ask
from cortext.cli.confirm import agree
from cortext.cli.repl import run
from cortext.cli.text import clean as shown
from cortext.cli.text import to_edge
from cortext.durability.trash import TrashEntry
from cortext.errors import SessionCorruptedError
from cortext.index.listed import Listed

_SOME = 10


def prepare() -> SpawnSettings:
    """The settings that hold. What an earlier clean-up did is said."""
    settings = load()
    for warning in settings.warnings:
        click.echo(f"warning: {shown(warning, lines=False)}", err=True)
    if note := told():
        click.echo(note, err=True)
    return settings


def delete_one(given: str, *, yes: bool) -> int:
    row = find(given)
    agree(f"Delete session '{row.key}'?", yes)
    _say_deleted(row.key, delete(row.key))
    return 0


def _say_deleted(id: str, entry: TrashEntry) -> None:
    click.echo(f"Session '{id}' is in the trash.")
    click.echo(f"`cortext trash restore {entry.id[:8]}` brings it back", err=True)


def clean_old(days: float) -> int:
    done = clean(days)
    for kept in done.kept:
        click.echo(f"kept: {shown(kept, lines=False)}", err=True)
    count = len(done.gone)
    click.echo(f"{count} {'session' if count == 1 else 'sessions'} went to the trash.")
    if count:
        click.echo("`cortext trash list` shows what can be brought back", err=True)
    return 0


def begin(id: str | None, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """A new session; or, where there is one of this id, that one."""
    if id and os.path.lexists(path_of(id)):
        return go_on(id, agent, tool, settings)
    cwd = os.getcwd()
    who = get_agent(agent or DEFAULT, cwd)
    runner = choose_runner(tool, who, settings)
    session = Spawned.begin(
        who.name, id=id or "", tool=runner.name, cwd=cwd, max_tokens=settings.max_tokens
    )
    return run(session, runner, who, settings, cwd)


def go_on(given: str, agent: str | None, tool: str | None, settings: SpawnSettings) -> int:
    """The session that is meant, where it was left."""
    cwd = os.getcwd()
    row = find(given)
    who = get_agent(agent, cwd) if agent else agent_of(row.agent, cwd)
    runner = choose_runner(tool, who, settings)
    session = _reopen(row.key, settings)
    if agent and agent != session.agent:
        session.set_agent(agent)
    return run(session, runner, who, settings, cwd)


def agent_of(name: str, cwd: str) -> Agent:
    """The agent that a session was had with; without a prompt, if there is none of its name now."""
    try:
        return get_agent(name or DEFAULT, cwd)
    except UnknownAgentError:
        text = f"there is no agent {name} here: it goes on without a system prompt"
        click.echo(f"warning: {shown(text, lines=False)}", err=True)
        return Agent(name, "", "")


def find(given: str) -> Listed:
    """The session that is meant. Several: a person is asked. None: those that there are are shown,
    and it ends."""
    rows = find_spawned(given)
    if len(rows) == 1:
        return rows[0]
    if rows:
        return ask(rows, given)
    click.echo(f"Session not found: {shown(given, lines=False)}", err=True)
    known = list_spawned()
    if known:
        click.echo("Available sessions:", err=True)
    for row in known[:_SOME]:
        click.echo(to_edge(f"  {row.key}  {row.title}", err=True), err=True)
    if len(known) > _SOME:
        click.echo(f"  and {len(known) - _SOME} more: --list-sessions shows all", err=True)
    raise click.exceptions.Exit(1)


def _reopen(id: str, settings: SpawnSettings) -> Spawned:
    """The session, open. If it is damaged, the person says what becomes of it; it ends here if it
    is not to be recovered."""
    try:
        return Spawned.reopen(id, max_tokens=settings.max_tokens)
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
        f"{done.kept} turns were kept, {done.lost} lines could not be read; the file as it was is "
        f"{done.aside}",
        err=True,
    )
    return Spawned.reopen(id, max_tokens=settings.max_tokens)
