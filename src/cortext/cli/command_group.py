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
        "resume": "Find a conversation and go on with it.",
        "search": "Find what was said, in any tool.",
        "list": "List conversations, the latest first.",
        "show": "Show one conversation.",
        "sync": "Copy what the AI tools keep into the archive.",
        "new": "Begin a conversation.",
        "stop": "Save a conversation and pause it.",
        "done": "Save a conversation and mark it as completed.",
        "doctor": "Say whether cortext and your AI tools work together.",
    },
    "Arrange": {
        "rename": "Give a conversation another title.",
        "tag": "Tag a conversation.",
        "fork": "Begin a conversation with what was said in another.",
        "delete": "Move a conversation to the trash.",
        "restore": "Bring back what was deleted.",
        "clean": "Move old completed conversations to the trash.",
        "trash": "What was deleted: list, restore, empty.",
        "export": "Write a conversation as md, html, json or jsonl.",
        "import": "Make a conversation of a tool's session, or of an exported file.",
    },
    "Set up": {
        "setup": "Connect cortext to your AI tools.",
        "init": "Make a folder a workspace.",
        "upgrade": "Bring the files of a workspace up to date.",
        "config": "Show and change settings.",
        "uninstall": "Take out of your AI tools what setup put in.",
    },
    "More": {
        "ask": "Ask an old conversation a question.",
        "spawn": "Talk to an agent in a session that is kept.",
        "watch": "Follow your conversations while they are had.",
        "tail": "Show a conversation as it grows.",
        "serve": "Serve conversations to programs, over HTTP.",
        "web": "Look at all conversations in a browser.",
        "mcp": "Serve past conversations to AI tools.",
        "hook": "What the hooks of AI tools call.",
        "slash": "What the slash commands inside AI tools call.",
        "scan": "Look for keys and passwords in conversations.",
        "redact": "Mask keys and passwords in conversations.",
        "stats": "How much you talk, with what, and when.",
        "copy": "Copy sessions from one store to another.",
        "demo": "A tour of the main job, on real files in a throw-away folder.",
    },
}
LISTED = {name: text for group in GROUPS.values() for name, text in group.items()}


_OTHER_WORDS = {
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
    "help": "--help",
    "check": "doctor",
    "status": "doctor",
    "version": "--version",
}
"""Names that other programs use for these commands."""


def nearest_command(given: str) -> str:
    """Return the name of the command that is most similar to `given`, or "" if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(given, LISTED, n=1)), "")


def _load_command(name: str) -> click.Command:
    module = "import_" if name == "import" else name
    return import_module(f"cortext.cli.commands.{module}").command


class LazyGroup(click.Group):
    """The commands of `cortext`, each a module of `cortext.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _load_command(cmd_name) if cmd_name in LISTED else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = _OTHER_WORDS.get(args[0]) or nearest_command(args[0])
            if known:
                raise click.UsageError(f"{error.message} Did you mean `{known}`?", ctx) from None
            if args[0].startswith("-"):
                raise
            other = f"`cortext search {shlex.join(args)}` looks for what was said."
            raise click.UsageError(f"{error.message} {other}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))


class SpawnGroup(click.Group):
    """The commands of `aur`: spec 002 gives `cortext spawn` this second name."""

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
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cortext(ctx: click.Context, debug: bool) -> None:
    """cortext keeps every conversation that you have with AI agents.

    Without a command it lets you pick one, in a terminal; elsewhere it lists them.
    """
    debugging.on = debug
    if ctx.invoked_subcommand is None:
        if can_pick() and not os.environ.get("CORTEXT_STORE"):
            from cortext.cli.picker.pick import pick

            pick()
        else:
            ctx.invoke(_load_command("list"))


@click.group(cls=SpawnGroup, context_settings=_HELP_OPTIONS)
@click.version_option(__version__, prog_name="aur")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def aur(debug: bool) -> None:
    """Agents that you talk to, turn by turn. It is part of cortext."""
    debugging.on = debug
