"""The command groups `cortext` and `aur`. A command's module is imported when the command runs."""

from __future__ import annotations

import os
import shlex
from copy import copy
from importlib import import_module

import click

from cortext import __version__
from cortext.cli.error_output import debugging
from cortext.cli.picker import can_pick

GROUPS = {
    "Daily": {
        "resume": "Find a conversation and continue it.",
        "search": "Search the messages of all conversations.",
        "list": "List conversations, most recent first.",
        "show": "Show one conversation.",
        "sync": "Copy the transcripts of your AI tools into the archive.",
        "new": "Start a conversation.",
        "stop": "Save a conversation and pause it.",
        "done": "Save a conversation and mark it as completed.",
        "doctor": "Check cortext, your AI tools and your saved conversations.",
    },
    "Organize": {
        "rename": "Change the title of a conversation.",
        "tag": "Add tags to a conversation, or remove them.",
        "fork": "Start a conversation with the messages of another.",
        "delete": "Move a conversation to the trash.",
        "restore": "Restore a conversation from the trash.",
        "clean": "Move old completed conversations to the trash.",
        "trash": "List, restore or permanently remove deleted conversations.",
        "export": "Write a conversation to an md, html, json or jsonl file.",
        "import": "Import an exported file or a tool's session as a conversation.",
    },
    "Set up": {
        "setup": "Connect cortext to your AI tools.",
        "init": "Turn a folder into a workspace.",
        "upgrade": "Update cortext's files in a workspace.",
        "config": "Show or change settings.",
        "moved": "Declare that a project folder was moved.",
        "uninstall": "Remove everything that setup added to your AI tools.",
    },
    "More": {
        "ask": "Ask a question about an old conversation.",
        "spawn": "Chat with an agent in the terminal; the chat is saved.",
        "watch": "Save new messages of all AI tools as they are written.",
        "tail": "Show new messages of a conversation as they are written.",
        "serve": "Serve conversations to programs over HTTP.",
        "web": "Browse all conversations in a web browser.",
        "mcp": "Serve past conversations to AI tools over MCP.",
        "hook": "Save new messages; the hooks of AI tools call this command.",
        "slash": "Answer the slash commands of AI tools, which call this command.",
        "scan": "Find keys and passwords in conversations.",
        "redact": "Redact keys and passwords in conversations.",
        "usage": "Show the tokens and the cost of your AI tools.",
        "statusline": "Print the costs for the status line of Claude Code.",
        "stats": "Show how often you use which AI tool, and the cost.",
        "copy": "Copy sessions from one store to another.",
        "demo": "Show the main features on sample files in a temporary folder.",
    },
}
COMMAND_SUMMARIES = {name: text for group in GROUPS.values() for name, text in group.items()}


_FOREIGN_NAMES = {
    "ls": "list",
    "rm": "delete",
    "remove": "delete",
    "start": "new",
    "begin": "new",
    "continue": "resume",
    "open": "show",
    "cat": "show",
    "pause": "stop",
    "undo": "trash restore",
    "find": "search",
    "grep": "search",
    "check": "doctor",
    "status": "doctor",
    "version": "--version",
}
"""Command names of other programs, each with the cortext command to suggest instead."""


def nearest_command(given: str) -> str:
    """Return the name of the command that is most similar to `given`, or "" if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(given, COMMAND_SUMMARIES, n=1)), "")


def _load_command(name: str) -> click.Command:
    module = "import_" if name == "import" else name
    return import_module(f"cortext.cli.commands.{module}").command


class LazyGroup(click.Group):
    """The program `cortext`. Each of its commands is a module of `cortext.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMAND_SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _load_command(cmd_name) if cmd_name in COMMAND_SUMMARIES else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        asked_help = args[0] == "help"
        if asked_help:
            # `cortext help search` is `cortext search --help`.
            if args[1:] in ([], ["help"]):
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            suggestion = _FOREIGN_NAMES.get(args[0]) or nearest_command(args[0])
            if suggestion:
                raise click.UsageError(
                    f"{error.message} Did you mean `{suggestion}`?", ctx
                ) from None
            if asked_help or args[0].startswith("-"):
                raise
            hint = f"To search your conversations, use `cortext search {shlex.join(args)}`."
            raise click.UsageError(f"{error.message} {hint}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))


class SpawnGroup(click.Group):
    """The program `aur`. Its only command is `spawn`, which is the same as `cortext spawn`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["spawn"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "spawn":
            return None
        command = copy(_load_command("spawn"))
        command.help = (command.help or "").replace("cortext spawn", "aur spawn")
        return command


_HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings=_HELP_OPTIONS,
)
@click.version_option(__version__, prog_name="cortext")
@click.option("--debug", is_flag=True, help="Show the traceback if an error occurs.")
@click.pass_context
def cortext(ctx: click.Context, debug: bool) -> None:
    """Keep, find and reopen your conversations with AI tools.

    Without a command, cortext opens a list in which you choose a conversation. If the output is not
    a terminal, cortext prints the list.
    """
    debugging.on = debug
    if ctx.invoked_subcommand is None:
        if can_pick() and not os.environ.get("CORTEXT_STORE"):
            from cortext.cli.picker.picker_launch import pick

            pick()
        else:
            ctx.invoke(_load_command("list"))


@click.group(cls=SpawnGroup, context_settings=_HELP_OPTIONS)
@click.version_option(__version__, prog_name="aur")
@click.option("--debug", is_flag=True, help="Show the traceback if an error occurs.")
def aur(debug: bool) -> None:
    """Talk to AI agents in saved sessions. This program is part of cortext."""
    debugging.on = debug
