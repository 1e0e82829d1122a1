"""The command `cortext demo`: show the main features on sample files in a temporary folder."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile

import click

from cortext.cli.terminal_text import clean
from cortext.features.setup.demo_tour import tour

_FOLDER_VARIABLES = (
    *("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB"),
)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the folder and print its path.")
def command(keep: bool) -> None:
    """Show the main features on sample files in a temporary folder."""
    folder = tempfile.mkdtemp(prefix="cortext-demo-")
    try:
        for number, step in enumerate(tour(folder), 1):
            click.echo(f"{number}. {step.title}\n   {step.done}\n")
            for line in step.lines:
                click.echo(f"     {clean(line)}")
            click.echo()
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    # If `make run` starts the demo from a virtual environment, cortext is not on the PATH.
    own_path = os.path.relpath(os.path.join(os.path.dirname(sys.executable), "cortext"))
    program = "cortext" if shutil.which("cortext") else own_path
    if keep:
        _print_commands(folder, program)
    else:
        click.echo("The tour's temporary folder was deleted. Next steps:")
        click.echo(f"  {program} demo --keep     keep the folder and look at its files")
        click.echo(f"  {program} list --all      list the conversations of your own tools")
        click.echo(f"  {program} --help          show all commands")


def _print_commands(folder: str, program: str) -> None:
    """Print commands that the user can try in the demo folder, and how to delete the folder.

    `program` is the name or the path of cortext.
    """
    # The demo has its own home folder. These variables would make the commands use other folders.
    names = [name for name in _FOLDER_VARIABLES if name in os.environ]
    unset = "".join(f"-u {name} " for name in names)
    folder = shlex.quote(folder)
    demo_command = f"env {unset}HOME={folder}/home {program}"
    click.echo(f"The files are in {folder}. Commands to try:")
    for command, about in (
        (f"{demo_command} list --all", "list the conversations of the tools"),
        (f"{demo_command} web", "show the same conversations in a browser"),
        (
            f"{program} list --store document:{folder}/sessions",
            "list the sessions that the agent saved",
        ),
        (
            f"{program} show killed --store log:{folder}/logs -n 3",
            "show the last messages that the killed process wrote",
        ),
        (f"rm -r {folder}", "delete the folder"),
    ):
        click.echo(f"  # {about}\n  {command}")
