"""The command `cortext spawn`, which is also called `aur spawn`: talk to an agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from cortext.cli.common_options import json_option
from cortext.cli.views.spawn_list import load_spawn_settings, show_sessions
from cortext.errors import CortextError
from cortext.features.spawn.agent_definitions import find_agents
from cortext.features.spawn.background_cleanup import start_expiry
from cortext.features.spawn.spawn_list import STATUS_SYNONYMS, STATUSES, list_spawned
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
    matches = (agent for name, agent in agents.items() if name.startswith(incomplete))
    return [CompletionItem(agent.name, help=agent.description) for agent in matches]


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
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="The agent to talk to, or whose sessions to list.",
)
@click.option(
    "--session",
    metavar="ID",
    help="The id of the new session. An existing session with this id continues.",
)
@click.option(
    "--tool",
    metavar="TOOL",
    shell_complete=complete_tool,
    help="The tool that answers: claude, opencode, gemini, codex, or any command that reads a "
    "prompt from stdin.",
)
@click.option(
    "--resume",
    metavar="[ID]",
    is_flag=False,
    flag_value="",
    shell_complete=complete_session,
    help="Continue a session. Without ID, choose one of the latest sessions.",
)
@click.option("-c", "--last", is_flag=True, help="Continue the latest session that is not open.")
@click.option("--list-sessions", is_flag=True, help="List the sessions, latest first.")
@click.option(
    "--status",
    type=click.Choice((*STATUSES, *STATUS_SYNONYMS)),
    help="List only sessions with this status.",
)
@click.option(
    "--delete-session",
    metavar="ID",
    shell_complete=complete_session,
    help="Move a session to the trash.",
)
@click.option(
    "--clean-sessions",
    metavar="DAYS",
    type=float,
    help="Move sessions without a turn for DAYS days to the trash.",
)
# Old scripts pass this option. It has no effect, because `spawn` does not ask for confirmation.
@click.option("-y", "--yes", is_flag=True, hidden=True, expose_value=False)
@json_option
def command(task_file: str | None, **options: Any) -> int:
    """Chat with an agent in the terminal; the chat is saved.

    \b
      cortext spawn -i                        a new session
      cortext spawn -i --agent qa-test        with your own agent
      cortext spawn -i --tool "my-llm -s"     answered by any command
      cortext spawn --resume qa-test-2026     continue, by id or words
      cortext spawn --list-sessions --status interrupted
      echo "why is the sky blue?" | cortext spawn -i

    Agents are markdown files in .workspace/agents/, .claude/agents/ and ~/.aurora/agents/.
    Sessions are files in ~/.aurora/spawn/sessions/, with one line for each turn. ~/.aurora is the
    folder that `spawn` uses for its agents, settings and sessions.
    """
    _check_usage(task_file, options)
    settings = load_spawn_settings()
    if options["list_sessions"]:
        show_sessions(settings, **{name: options[name] for name in ("agent", "status", "as_json")})
        return 0
    from cortext.cli import spawn_actions  # loads the REPL, which a list does not need

    start_expiry(settings)
    if options["delete_session"] is not None:
        return spawn_actions.delete_one(options["delete_session"])
    if options["clean_sessions"] is not None:
        return spawn_actions.delete_old_sessions(options["clean_sessions"])
    if options["last"]:
        return spawn_actions.continue_last(options["agent"], options["tool"], settings)
    if options["resume"] is not None:
        return spawn_actions.continue_session(
            options["resume"], options["agent"], options["tool"], settings
        )
    return spawn_actions.begin(options["session"], options["agent"], options["tool"], settings)


def _check_usage(task_file: str | None, options: dict[str, Any]) -> None:
    """Check the options of `spawn`.

    Raises UsageError or CortextError if options cannot be combined, for example because they ask
    for two actions. `task_file` must be None. Any other value is an error, because cortext does not
    run task files.
    """
    if task_file is not None:
        if options["interactive"] or options["resume"] is not None:
            raise CortextError("Cannot use --interactive with task file")
        raise CortextError("cortext does not run task files", hint="to talk to an agent: `-i`")
    # Do not write `in (False, None)`: it is also true for 0, which is a valid number of days.
    actions = [
        name for name in _ACTIONS if options[name] is not None and options[name] is not False
    ]
    if len(actions) > 1 and actions not in (["interactive", "resume"], ["interactive", "last"]):
        words = " and ".join(f"--{name.replace('_', '-')}" for name in actions)
        raise click.UsageError(f"{words} cannot be combined")
    if options["tool"] is not None and not options["tool"].strip():
        raise click.UsageError("--tool is empty: give the name of a tool, or a command")
    if (options["resume"] is not None or options["last"]) and options["session"]:
        raise click.UsageError(
            "--session is for new sessions: leave it out with --resume or --last"
        )
    if (options["status"] or options["as_json"]) and not options["list_sessions"]:
        raise click.UsageError("--status and --json need --list-sessions")
