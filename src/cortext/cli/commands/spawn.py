"""`cortext spawn`, which is also `aur spawn`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from cortext.cli.common_options import json_option
from cortext.cli.views.spawn_list import load_spawn_settings, show_sessions
from cortext.errors import CortextError
from cortext.features.spawn.agents import find_agents
from cortext.features.spawn.cleanup import start_expiry
from cortext.features.spawn.spawn_list import SAME, STATUSES, list_spawned
from cortext.tools.registry import tool_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_ACTIONS = ("interactive", "resume", "last", "list_sessions", "delete_session", "clean_sessions")


def complete_session(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the sessions whose id starts with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    rows = (row for row in list_spawned() if row.key.startswith(incomplete))
    return [CompletionItem(row.key, help=row.title) for row in rows]


def complete_agent(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the agents whose name starts with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    agents = find_agents(os.getcwd())
    found = (agent for name, agent in agents.items() if name.startswith(incomplete))
    return [CompletionItem(agent.name, help=agent.description) for agent in found]


def complete_tool(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tools whose name starts with the typed text, for shell completion."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(tool) for tool in tool_names() if tool.startswith(incomplete)]


@click.command("spawn")
@click.argument("task_file", required=False, metavar="")
@click.option("-i", "--interactive", is_flag=True, help="Talk to an agent.")
@click.option(
    "--agent", metavar="NAME", shell_complete=complete_agent, help="Which agent; or whose sessions."
)
@click.option(
    "--session", metavar="ID", help="The id of the new session; one that is there goes on."
)
@click.option(
    "--tool",
    metavar="TOOL",
    shell_complete=complete_tool,
    help="claude, opencode, gemini, codex, or any command that reads a prompt on stdin.",
)
@click.option(
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    shell_complete=complete_session,
    help="Go on with a session; without ID, choose one of the latest.",
)
@click.option("-c", "--last", is_flag=True, help="Go on with the latest that is not open.")
@click.option("--list-sessions", is_flag=True, help="List the sessions, the latest first.")
@click.option("--status", type=click.Choice((*STATUSES, *SAME)), help="List only those.")
@click.option(
    "--delete-session",
    metavar="ID",
    shell_complete=complete_session,
    help="Delete a session; the trash keeps a copy.",
)
@click.option(
    "--clean-sessions",
    metavar="DAYS",
    type=float,
    help="Delete sessions with no turn for DAYS; the trash keeps copies.",
)
# Scripts still pass it, though no command asks any more.
@click.option("-y", "--yes", is_flag=True, hidden=True, expose_value=False)
@json_option
def command(task_file: str | None, **options: Any) -> int:
    """Talk to an agent, turn by turn, in a session that is kept.

    \b
      cortext spawn -i                        a new session
      cortext spawn -i --agent qa-test        with an agent of yours
      cortext spawn -i --tool "my-llm -s"     answered by any command
      cortext spawn --resume qa-test-2026     go on: an id, its start, or words
      cortext spawn --list-sessions --status interrupted
      echo "why is the sky blue?" | cortext spawn -i

    Agents are markdown files in .workspace/agents/, .claude/agents/ and ~/.aurora/agents/.
    Sessions are files in ~/.aurora/spawn/sessions/, one line a turn.
    """
    _check(task_file, options)
    settings = load_spawn_settings()
    if options["list_sessions"]:
        show_sessions(settings, **{name: options[name] for name in ("agent", "status", "as_json")})
        return 0
    from cortext.cli import spawn_actions  # loads the REPL, which a list does not need

    start_expiry(settings)
    if options["delete_session"] is not None:
        return spawn_actions.delete_one(options["delete_session"])
    if options["clean_sessions"] is not None:
        return spawn_actions.clean_old(options["clean_sessions"])
    if options["last"]:
        return spawn_actions.go_on_with_last(options["agent"], options["tool"], settings)
    if options["resume"] is not None:
        return spawn_actions.go_on(options["resume"], options["agent"], options["tool"], settings)
    return spawn_actions.begin(options["session"], options["agent"], options["tool"], settings)


def _check(task_file: str | None, options: dict[str, Any]) -> None:
    """Check that the options ask for only one action, and that they fit together.

    Raises UsageError or CortextError otherwise.
    """
    if task_file is not None:
        if options["interactive"] or options["resume"] is not None:
            raise CortextError("Cannot use --interactive with task file")
        raise CortextError("task files are not run here", hint="-i talks to an agent")
    # 0 days is as much as any: `0 in (False, None)` would be true.
    asked = [name for name in _ACTIONS if options[name] is not None and options[name] is not False]
    if len(asked) > 1 and asked not in (["interactive", "resume"], ["interactive", "last"]):
        words = " and ".join(f"--{name.replace('_', '-')}" for name in asked)
        raise click.UsageError(f"{words} are two things")
    if options["tool"] is not None and not options["tool"].strip():
        raise click.UsageError("--tool is one of the four tools, or a command")
    if (options["resume"] is not None or options["last"]) and options["session"]:
        raise click.UsageError("--session names a new session; --resume an old one")
    if (options["status"] or options["as_json"]) and not options["list_sessions"]:
        raise click.UsageError("--status and --json go with --list-sessions")
