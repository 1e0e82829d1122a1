"""`cortext demo`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile

import click

from cortext.cli.terminal_text import clean
from cortext.features.setup.demo import tour

_PLACES = (
    *("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB"),
)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Keep the folder, and say where it is.")
def command(keep: bool) -> None:
    """A tour of the main job, on real files in a throw-away folder."""
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
    # Before it is installed for good, it runs by make and is not on the PATH.
    own = os.path.relpath(os.path.join(os.path.dirname(sys.executable), "cortext"))
    program = "cortext" if shutil.which("cortext") else own
    if keep:
        _show_around(folder, program)
    else:
        click.echo("The folder is gone again. Next:")
        click.echo(f"  {program} demo --keep     keep it, and look at the plain files")
        click.echo(f"  {program} list --all      what your own tools have")
        click.echo(f"  {program} --help          everything else")


def _show_around(folder: str, program: str) -> None:
    """Print the commands that show the files of the demo, and the command that deletes them."""
    # The tour had a home of its own; what says where another one is would lead elsewhere.
    names = [name for name in _PLACES if name in os.environ]
    unset = "".join(f"-u {name} " for name in names)
    folder = shlex.quote(folder)
    there = f"env {unset}HOME={folder}/home {program}"
    click.echo(f"It is in {folder}. Look around:")
    for command, about in (
        (f"{there} list --all", "the tools' conversations"),
        (f"{there} web", "the same in a browser"),
        (f"{program} list --store document:{folder}/sessions", "what the agent kept"),
        (f"{program} show killed --store log:{folder}/logs -n 3", "what the killed one wrote"),
        (f"rm -r {folder}", "when you have seen enough"),
    ):
        click.echo(f"  # {about}\n  {command}")
