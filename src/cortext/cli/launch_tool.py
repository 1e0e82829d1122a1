"""Reopening a conversation in a tool, for people: which tool, the command line, the tool itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from cortext.catalog.row import AUR, SPAWN
from cortext.cli.terminal_text import clean
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from cortext.catalog.row import ConversationRow
    from cortext.features.resume.reopen import Prepared
    from cortext.tools.launch import Plan

F = TypeVar("F", bound=Callable[..., Any])


def tool_option(command: F) -> F:
    return click.option(
        "--tool",
        type=click.Choice(tool_names()),
        help="The tool.  [default: the last one used for it]",
    )(command)


def can_talk() -> bool:
    """Whether there is a terminal, and no tool in it already."""
    from cortext.tools.tool_context import here

    return sys.stdin.isatty() and sys.stdout.isatty() and here() is None


def can_launch(wanted: str | None) -> bool:
    """Whether there is a terminal for a tool, no tool in it already, and one to start."""
    from cortext.tools.launch import installed

    if not can_talk():
        return False
    if wanted or installed():
        return True
    say("no AI tool is installed here to reopen it in; this is what an agent needs:")
    return False


def pick_tool(row: ConversationRow, wanted: str | None) -> str:
    """The tool to take; a person is asked where nothing else decides."""
    from cortext.cli.select_conversation import can_ask
    from cortext.errors import CortextError
    from cortext.features.resume.reopen import choose_tool

    choice = choose_tool(row, wanted or "")
    for note in choice.notes:
        say(note)
    if choice.tool:
        return choice.tool
    if not can_ask():
        raise CortextError(
            f"several tools are installed: {', '.join(choice.among)}",
            hint="say which with --tool, or once for all: `cortext config resume.tool NAME`",
        )
    return click.prompt("in which tool?", type=click.Choice(choice.among), err=True)


def reopen_in_tool(
    row: ConversationRow,
    tool: str | None,
    budget: int | None,
    *,
    fork: bool,
    reopen: bool = False,
    printing: bool = False,
    extra: tuple[str, ...] = (),
) -> Prepared:
    """In a tool; or, for `printing`, what has to be done for it, and the conversation rests."""
    from cortext.features.resume.agent_briefing import activate

    reopening = fork or may_go_on(row, reopen=reopen)
    chosen = pick_tool(row, tool)
    if not row.status:
        # Its session was deleted: there has to be one to go on with.
        activate(row, reopen=False)
    prepared = get_ready(row, chosen, budget=most_characters(budget), fork=fork, extra=extra)
    if not printing or (reopen and row.status == "completed"):
        activate(prepared.row, reopen=reopening)  # whether it cannot is in the notes
    if not printing:
        launch(prepared)
    return prepared


def is_talk(row: ConversationRow, tool: str | None, *, fork: bool) -> bool:
    """Whether it goes on in `spawn`, where it was had: in no other tool, and in no copy."""
    return row.tool == AUR and not (tool or fork)


def talk_on(row: ConversationRow) -> NoReturn:
    """Go on with a session of `spawn`, and exit as that does."""
    from cortext.cli.spawn_actions import go_on
    from cortext.cli.views.spawn_list import prepare

    raise click.exceptions.Exit(go_on(row.key, None, None, prepare()))


def talk_plan(row: ConversationRow) -> Prepared:
    """What a person would type for that."""
    from cortext.features.resume.reopen import Prepared
    from cortext.tools.launch import Plan

    plan = Plan(SPAWN, ("cortext", "spawn", "--resume", row.key), os.getcwd())
    return Prepared("native", plan, row.key, row, [])


def most_characters(budget: int | None) -> int:
    """How much of a history is told."""
    from cortext import paths
    from cortext.config import Config

    return budget or int(Config.load(paths.workspace_root())["resume.budget"])


def may_go_on(row: ConversationRow, *, reopen: bool) -> bool:
    """Whether one that was completed is reopened; if that is not meant, this is the end."""
    from cortext.cli.select_conversation import can_ask
    from cortext.features.resume.agent_briefing import refuse_complete

    if row.status == "completed" and not reopen and can_ask():
        reopen = click.confirm("it was marked complete; go on with it all the same?", err=True)
        if not reopen:
            say("nothing was done")
            raise click.exceptions.Exit(1)
    refuse_complete(row, reopen=reopen)
    return reopen


def get_ready(
    row: ConversationRow, tool: str, *, budget: int, fork: bool, extra: tuple[str, ...]
) -> Prepared:
    """As `prepare`; where it is open elsewhere, a person is offered a fork."""
    from cortext.cli.select_conversation import can_ask
    from cortext.features.resume.reopen import prepare
    from cortext.features.resume.resume_checks import LiveError

    try:
        return prepare(row, tool, budget=budget, fork=fork, extra=extra)
    except LiveError as error:
        if not can_ask():
            raise
        if not click.confirm(f"{error}; go on in a copy of it?", err=True):
            say("nothing was done")
            raise click.exceptions.Exit(1) from None
        return prepare(row, tool, budget=budget, fork=True, extra=extra)


def launch(prepared: Prepared) -> None:
    """Start the tool, and exit as it does, with what was said in it kept."""
    from cortext.features.resume.reopen import finish

    for note in prepared.notes:
        say(note)
    code = run(prepared.plan)
    new = finish(prepared)
    if new:
        say(f"{new} new message{'s' if new > 1 else ''} of it kept in {prepared.row.key}")
    raise click.exceptions.Exit(code)


def run(plan: Plan) -> int:
    """The tool in this terminal, until it ends; its exit code."""
    import signal
    import subprocess

    def pass_over(number: int, frame: object) -> None:
        """Keys that interrupt are the tool's. Unlike ignoring them, this is not inherited."""

    before = {s: signal.signal(s, pass_over) for s in (signal.SIGINT, signal.SIGQUIT)}
    try:
        done = subprocess.run(
            plan.words, cwd=plan.cwd, env={**os.environ, **plan.environment}, check=False
        )
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def command_line(plan: Plan) -> str:
    """What a person would type into a shell."""
    from cortext.cli.shell_quoting import quoted

    # So that the line stays one: at the end of a word a newline cannot be spelt.
    folder = f"{plan.cwd}/." if plan.cwd.endswith("\n") else plan.cwd
    variables = [f"{name}={quoted(value)}" for name, value in plan.environment.items()]
    words = [*variables, *map(quoted, plan.words)]
    return f"cd {quoted(folder)} && {' '.join(words)}"


def say(text: str) -> None:
    click.echo(clean(text, lines=False), err=True)
