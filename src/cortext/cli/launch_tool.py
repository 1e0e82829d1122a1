"""Reopening a conversation in an AI tool: choose the tool, print its command or start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import NoReturn

import click

from cortext.catalog.row import AUR, SPAWN, ConversationRow
from cortext.cli.common_options import print_json
from cortext.cli.resume_actions import confirm_reopening, history_budget
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import can_ask, clean
from cortext.cli.views.spawn_list import load_spawn_settings
from cortext.errors import CortextError
from cortext.features.resume.agent_briefing import activate
from cortext.features.resume.reopen import Prepared, choose_tool, finish, prepare
from cortext.features.resume.resume_checks import LiveError
from cortext.tools.launch import LaunchPlan, installed
from cortext.tools.tool_context import here


def can_talk() -> bool:
    """Return whether the user can talk to a tool in this terminal.

    Return False without a terminal, and inside another AI tool.
    """
    return sys.stdin.isatty() and sys.stdout.isatty() and here() is None


def can_launch(wanted: str | None) -> bool:
    """Return whether an AI tool can be started in this terminal.

    `wanted` is the tool that the user named, or None. If no tool is named or installed, print that
    and return False.
    """
    if not can_talk():
        return False
    if wanted or installed():
        return True
    say("no AI tool is installed here to reopen it in; this is what an agent needs:")
    return False


def pick_tool(row: ConversationRow, wanted: str | None) -> str:
    """Return the tool in which to reopen a conversation.

    `wanted` is the tool that the user named, or None. If neither that nor the settings decide, ask
    the user. Raises CortextError if several tools are possible and there is no terminal to ask on.
    """
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
    """Reopen a conversation in a tool and exit with the tool's exit code.

    With `printing`, do not start the tool, but return the launch plan. The status of the
    conversation then does not change, except that `reopen` makes a completed conversation active.
    `budget` limits the characters of the history, and `extra` are further arguments for the tool.
    """
    reopening = fork or confirm_reopening(row, reopen=reopen)
    chosen = pick_tool(row, tool)
    if not row.status:
        # The conversation has no session, so create the one to continue.
        activate(row, reopen=False)
    prepared = get_ready(row, chosen, budget=history_budget(budget), fork=fork, extra=extra)
    if not printing or (reopen and row.status == "completed"):
        activate(prepared.row, reopen=reopening)  # `prepared.notes` says if that was not possible
    if not printing:
        launch(prepared)
    return prepared


def is_talk(row: ConversationRow, tool: str | None, *, fork: bool) -> bool:
    """Return whether a conversation continues in `cortext spawn` and not in a tool.

    This is true for a session of `spawn`, unless the user names a tool or wants a fork.
    """
    return row.tool == AUR and not (tool or fork)


def talk_on(row: ConversationRow) -> NoReturn:
    """Continue a session of `spawn` in this terminal, and exit with its exit code."""
    from cortext.cli.spawn_actions import go_on  # loads the REPL

    raise click.exceptions.Exit(go_on(row.key, None, None, load_spawn_settings()))


def talk_plan(row: ConversationRow) -> Prepared:
    """Return the launch plan that continues a session of `spawn`."""
    plan = LaunchPlan(SPAWN, ("cortext", "spawn", "--resume", row.key), os.getcwd())
    return Prepared("native", plan, row.key, row, [])


def get_ready(
    row: ConversationRow, tool: str, *, budget: int, fork: bool, extra: tuple[str, ...]
) -> Prepared:
    """Return the launch plan for a conversation in a tool, as `prepare` does.

    If the conversation is open elsewhere, ask the user whether to continue in a fork, and exit if
    the user declines. Raises LiveError if there is no terminal to ask on.
    """
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
    """Start the prepared tool, and exit with its exit code.

    Before the exit, capture the new messages and print how many there are.
    """
    for note in prepared.notes:
        say(note)
    code = run(prepared.plan)
    new = finish(prepared)
    if new:
        say(f"{new} new message{'s' if new > 1 else ''} of it kept in {prepared.row.key}")
    raise click.exceptions.Exit(code)


def run(plan: LaunchPlan) -> int:
    """Run the tool in this terminal until it ends, and return its exit code."""

    def pass_over(number: int, frame: object) -> None:
        """Ignore the interrupt keys, which are meant for the tool.

        Do not use SIG_IGN, because the tool would inherit it.
        """

    before = {s: signal.signal(s, pass_over) for s in (signal.SIGINT, signal.SIGQUIT)}
    try:
        done = subprocess.run(
            plan.words, cwd=plan.cwd, env={**os.environ, **plan.environment}, check=False
        )
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def command_line(plan: LaunchPlan) -> str:
    """Return the launch plan as one line for a shell: `cd FOLDER && COMMAND`."""
    # `quoted` cannot escape a newline at the end of a word, and the command must stay on one line.
    folder = f"{plan.cwd}/." if plan.cwd.endswith("\n") else plan.cwd
    variables = [f"{name}={quoted(value)}" for name, value in plan.environment.items()]
    words = [*variables, *map(quoted, plan.words)]
    return f"cd {quoted(folder)} && {' '.join(words)}"


def say(text: str) -> None:
    click.echo(clean(text, lines=False), err=True)


def print_plan(prepared: Prepared, *, as_json: bool) -> None:
    """Print a launch plan as a command line for a shell or as JSON, after its notes."""
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
