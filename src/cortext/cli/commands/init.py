"""`cortext init`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import click

from cortext import paths
from cortext.cli.commands.setup import complete_tools, parse_tool_names
from cortext.cli.select_conversation import can_ask
from cortext.cli.terminal_text import clean, one_line
from cortext.errors import CortextError
from cortext.features.setup.tool_setup import found_tools
from cortext.workspace.init_workspace import Initialized, initialize


@click.command("init")
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="AI tools that get its commands, with commas: claude,gemini.  [default: those found here]",
)
@click.option("--force", is_flag=True, help="Overwrite files that you have changed.")
def command(path: str, tools: tuple[str, ...] | None, force: bool) -> None:
    """Make a folder a workspace. What you have changed in it is kept, unless you say otherwise.

    Your AI tools get a command for each type of conversation there: /workspace.brainstorm and so
    on. A type of your own is a file in .workspace/commands; `cortext upgrade` makes its commands.
    """
    root = _absolute(path)
    outer = _enclosing_workspace(root)
    result = bring_up_to_date(root, force=force, tools=found_tools() if tools is None else tools)
    if result.made:
        click.echo(f"{one_line(root)} is a workspace: {_written(result.made)}")
        if outer:
            click.echo(
                f"this is inside the workspace {one_line(outer)}; its lists do not show what is "
                "here",
                err=True,
            )
        if os.path.lexists(os.path.join(root, ".git")):
            click.echo(
                "it is the top of a git repository, so `cortext stop` commits conversations here; "
                "`cortext config sessions.git off` keeps them out",
                err=True,
            )
        click.echo('next: cortext new brainstorm "your topic"', err=True)
    else:
        click.echo(f"{one_line(root)} is a workspace already; nothing to do")


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise CortextError(
            "the current folder no longer exists", hint="change to another folder"
        ) from None


def _enclosing_workspace(root: str) -> str:
    """Return the workspace that contains a folder, or "" if there is none.

    Raises CortextError if the folder is in the part where that workspace stores its own files.
    """
    outer = paths.workspace_root(os.path.dirname(root))
    if not root.startswith(f"{outer}/"):
        return ""
    part = root[len(outer) + 1 :].partition("/")[0]
    if part in (".workspace", "conversations"):
        raise CortextError(
            f"{root} is inside the workspace {outer}, which keeps its own files in {part}/",
            hint="name another folder: cortext init DIR",
        )
    return outer


def _written(names: Sequence[str]) -> str:
    """Return a sentence that tells how many files were written, and into which folders."""
    folders = Counter(name.split("/", 1)[0] for name in names)
    counts = [f"{number} in {folder}/" for folder, number in folders.items()]
    total = "1 file" if len(names) == 1 else f"{len(names)} files"
    return one_line(f"{total} written ({', '.join(counts)})")


def bring_up_to_date(path: str, *, force: bool, tools: Sequence[str] = ()) -> Initialized:
    """Write cortext's own files of a workspace, and ask about each file that the user has changed.

    With `force`, overwrite changed files without asking. Without a terminal, keep them.
    """

    def overwrite(name: str, difference: str) -> bool:
        if force:
            return True
        if not can_ask():
            return False
        click.echo(clean(difference), err=True)
        return click.confirm(f"overwrite {one_line(name)}?", err=True)

    result = initialize(os.path.abspath(path), overwrite=overwrite, tools=tools)
    for name in result.kept:
        click.echo(f"kept as you have it: {one_line(name)}  (--force overwrites it)", err=True)
    return result
