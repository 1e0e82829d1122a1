"""The group of commands. A command is imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from cortext import __version__
from cortext.cli.errors import debugging

LISTED = {
    "init": "Make a folder a workspace.",
    "new": "Begin a conversation.",
    "stop": "Save a conversation and pause it.",
    "done": "Save a conversation and mark it as completed.",
    "resume": "Find a conversation and go on with it.",
    "demo": "A tour of the main job, on real files in a throw-away folder.",
    "list": "List sessions, newest first.",
    "show": "Show one session.",
    "copy": "Copy sessions from one store to another.",
}


class LazyGroup(click.Group):
    """Commands by name, each a module of `cortext.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LISTED:
            return None
        return import_module(f"cortext.cli.commands.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(LISTED.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="cortext")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cortext(ctx: click.Context, debug: bool) -> None:
    """cortext keeps every conversation that you have with AI agents.

    Without a command it lists them.
    """
    debugging.on = debug
    if ctx.invoked_subcommand is None:
        from cortext.cli.commands.list import command

        ctx.invoke(command)
