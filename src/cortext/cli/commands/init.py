"""The command `cortext init`: turn a folder into a workspace."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import click

from cortext import paths
from cortext.cli.conversation_choice import can_ask
from cortext.cli.terminal_text import clean, one_line
from cortext.cli.tool_names_option import complete_tools, parse_tool_names
from cortext.errors import CortextError
from cortext.features.setup.tool_setup import find_connectable_tools
from cortext.workspace.init_workspace import InitResult, initialize


@click.command("init")
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="The AI tools that get commands, separated by commas, for example claude,gemini.  "
    "[default: all tools found on this machine]",
)
@click.option("--force", is_flag=True, help="Overwrite files that you have changed.")
def command(path: str, tools: tuple[str, ...] | None, force: bool) -> None:
    """Turn a folder into a workspace.

    In the workspace, your AI tools get a command for each type of conversation, such as
    /workspace.brainstorm. To add your own type, put a file into .workspace/commands and run
    `cortext upgrade`.

    In an existing workspace, the command asks before it overwrites a file that you have changed.
    """
    root = _absolute_path(path)
    outer = _enclosing_workspace(root)
    result = bring_up_to_date(
        root, force=force, tools=find_connectable_tools() if tools is None else tools
    )
    if result.made:
        click.echo(f"{one_line(root)} is a workspace: {_describe_files(result.made)}")
        if outer:
            click.echo(
                f"This folder is inside the workspace {one_line(outer)}. Lists of that workspace "
                "do not show conversations of this workspace.",
                err=True,
            )
        if os.path.lexists(os.path.join(root, ".git")):
            click.echo(
                "This folder is the root of a git repository, so `cortext stop` commits "
                "conversations to it. `cortext config sessions.git off` turns that off.",
                err=True,
            )
        click.echo('Next: cortext new brainstorm "your topic"', err=True)
    else:
        click.echo(f"{one_line(root)} is already a workspace; nothing was changed")


def _absolute_path(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise CortextError(
            "the current folder no longer exists", hint="change to another folder"
        ) from None


def _enclosing_workspace(root: str) -> str:
    """Return the workspace that contains the folder `root`, or "" if there is none.

    Raises CortextError if `root` is inside `.workspace` or `conversations` of that workspace.
    """
    outer = paths.workspace_root(os.path.dirname(root))
    if not root.startswith(f"{outer}/"):
        return ""
    part = root[len(outer) + 1 :].partition("/")[0]
    if part in (".workspace", "conversations"):
        raise CortextError(
            f"{root} is inside the workspace {outer}, which keeps its own files in {part}/",
            hint="choose another folder: cortext init DIR",
        )
    return outer


def _describe_files(names: Sequence[str]) -> str:
    """Return a text that says how many files were written, in total and into each folder."""
    folders = Counter(name.split("/", 1)[0] for name in names)
    counts = [f"{number} in {folder}/" for folder, number in folders.items()]
    total = "1 file" if len(names) == 1 else f"{len(names)} files"
    return one_line(f"{total} written ({', '.join(counts)})")


def bring_up_to_date(path: str, *, force: bool, tools: Sequence[str] = ()) -> InitResult:
    """Write the current version of cortext's own files into the workspace at `path`.

    Ask before overwriting a file that the user changed. With `force`, overwrite it without asking.
    Without a terminal, keep it. `tools` are the AI tools that get slash commands.
    """

    def overwrite(name: str, difference: str) -> bool:
        if force:
            return True
        if not can_ask():
            return False
        click.echo(clean(difference), err=True)
        return click.confirm(f"Overwrite {one_line(name)}?", err=True)

    result = initialize(os.path.abspath(path), overwrite=overwrite, tools=tools)
    for name in result.kept:
        click.echo(
            f"not overwritten, because you changed it: {one_line(name)}  (--force overwrites it)",
            err=True,
        )
    return result
