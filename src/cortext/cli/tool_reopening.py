"""Reopen a conversation in an AI tool: choose the tool, then start it or print its command."""

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
from cortext.features.resume.resume_checks import LiveError
from cortext.features.resume.resume_preparation import (
    Prepared,
    choose_tool,
    finish,
    needs_write,
    prepare,
)
from cortext.tools.launch_plans import LaunchPlan, installed, require
from cortext.tools.surrounding_session import here


def can_talk() -> bool:
    """Return whether an interactive tool can run in this terminal.

    Return False if stdin or stdout is not a terminal, or if this process runs inside an AI tool.
    """
    return sys.stdin.isatty() and sys.stdout.isatty() and here() is None


def can_launch(wanted: str | None) -> bool:
    """Return whether an AI tool can be started in this terminal.

    `wanted` is the tool that the user named, or None. If it is None, at least one AI tool must be
    installed.
    """
    return can_talk() and bool(wanted or installed())


def explain_no_launch(wanted: str | None) -> list[str]:
    """Return lines that say why no AI tool was started, after `can_launch` returned False.

    `wanted` is the tool that the user named, or None. If it is None and no tool can run in this
    terminal, return an empty list, because the user expects only a briefing. Raises
    ToolMissingError if `wanted` is not installed.
    """
    if can_talk():
        return ["No AI tool is installed. This is the briefing for your agent:"]
    if not wanted:
        return []
    require(wanted)
    why = "this command runs inside an AI tool" if here() else "this is not a terminal"
    return [f"{wanted} was not started: {why}.", "hint: to print its command line, use --print"]


def pick_tool(row: ConversationRow, wanted: str | None) -> str:
    """Return the name of the tool in which to reopen a conversation.

    `wanted` is the tool that the user named, or None. If it is None, use the first of these tools
    that is installed: the last tool of the conversation, the default tool in the settings, the only
    installed tool. If there is no such tool, ask the user to choose an installed tool. Raises
    CortextError if `wanted` is not installed, if no tool is installed, or if there is no terminal
    to ask on.
    """
    choice = choose_tool(row, wanted or "")
    for note in choice.notes:
        say(note)
    if choice.tool:
        return choice.tool
    if not can_ask():
        raise CortextError(
            f"several tools are installed: {', '.join(choice.among)}",
            hint="choose with --tool NAME, or set a default: `cortext config resume.tool NAME`",
        )
    return click.prompt("In which tool?", type=click.Choice(choice.among), err=True)


def reopen_in_tool(
    row: ConversationRow,
    tool: str | None,
    budget: int | None,
    *,
    fork: bool,
    reopen: bool = False,
    printing: bool = False,
    write: bool = True,
    extra: tuple[str, ...] = (),
) -> Prepared:
    """Reopen a conversation in a tool, and exit with the tool's exit code.

    With `printing`, return the launch plan (the command, its folder and its environment) and do not
    start the tool. If `write` is False, change no conversation, and raise CortextError if a session
    must be written first.

    `fork` continues in a copy. With `reopen`, do not ask before a completed conversation is
    continued. `budget` limits the characters of the history. `extra` are further arguments for the
    tool.
    """
    reopening = fork or confirm_reopening(row, reopen=reopen)
    chosen = pick_tool(row, tool)
    if not row.status:
        if not write:
            raise needs_write(chosen, fork=fork)
        # The conversation has no session yet, so create the session to continue.
        activate(row, reopen=False)
    prepared = get_ready(
        row, chosen, budget=history_budget(budget), fork=fork, write=write, extra=extra
    )
    if not printing or (write and reopen and row.status == "completed"):
        activate(prepared.row, reopen=reopening)  # if this fails, `prepared.notes` says so
    if not printing:
        launch(prepared)
    return prepared


def continues_in_spawn(row: ConversationRow, tool: str | None, *, fork: bool) -> bool:
    """Return whether `cortext spawn` continues a conversation, instead of an AI tool.

    Return True for a session of `spawn`, unless the user names a tool or wants a fork (a copy).
    """
    return row.tool == AUR and not (tool or fork)


def continue_spawned(row: ConversationRow) -> NoReturn:
    """Continue a session of `spawn` in this terminal, and exit with its exit code."""
    from cortext.cli.spawn_actions import continue_session  # loads the REPL

    raise click.exceptions.Exit(continue_session(row.key, None, None, load_spawn_settings()))


def plan_spawned(row: ConversationRow) -> Prepared:
    """Return the launch plan (the command and its folder) that continues a session of `spawn`."""
    plan = LaunchPlan(SPAWN, ("cortext", "spawn", "--resume", row.key), os.getcwd())
    return Prepared("native", plan, row.key, row, [])


def get_ready(
    row: ConversationRow,
    tool: str,
    *,
    budget: int,
    fork: bool,
    extra: tuple[str, ...],
    write: bool = True,
) -> Prepared:
    """Prepare a conversation for a tool, and return the launch plan (the command to run).

    If the conversation is open elsewhere, ask the user whether to continue in a fork (a copy), and
    exit if the user declines. Raises LiveError if there is no terminal to ask on.
    """
    try:
        return prepare(row, tool, budget=budget, fork=fork, write=write, extra=extra)
    except LiveError as error:
        if not can_ask():
            raise
        if not click.confirm(f"{error}; continue in a copy?", err=True):
            say("Nothing was done.")
            raise click.exceptions.Exit(1) from None
        return prepare(row, tool, budget=budget, fork=True, write=write, extra=extra)


def launch(prepared: Prepared) -> None:
    """Run the prepared tool until it ends, and exit with its exit code.

    Before the exit, save the new messages in the conversation, and print how many there are.
    """
    for note in prepared.notes:
        say(note)
    code = run(prepared.plan)
    new = finish(prepared)
    if new:
        say(f"{new} new message{'s' if new > 1 else ''} saved in {prepared.row.key}.")
    raise click.exceptions.Exit(code)


def run(plan: LaunchPlan) -> int:
    """Run the tool in this terminal until it ends, and return its exit code."""

    def ignore_interrupt(number: int, frame: object) -> None:
        """Do nothing, because Ctrl+C is meant for the tool.

        SIG_IGN would not work here: the tool would inherit it.
        """

    previous_handlers = {
        s: signal.signal(s, ignore_interrupt) for s in (signal.SIGINT, signal.SIGQUIT)
    }
    try:
        process = subprocess.run(
            plan.words, cwd=plan.cwd, env={**os.environ, **plan.environment}, check=False
        )
    finally:
        for number_of_signal, handler in previous_handlers.items():
            signal.signal(number_of_signal, handler)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


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
    """Print the notes for the user, and then the command that starts the tool.

    The command is printed as a command line for a shell, or as JSON.
    """
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
