"""`cortext demo`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from cortext.app.demo import tour
from cortext.cli.text import clean


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
        click.echo(f"Look around:  {program} list --store document:{folder}/sessions")
        click.echo(f"              {program} show killed --store log:{folder}/logs -n 3")
    else:
        click.echo("The folder is gone again. Next:")
        click.echo(f"  {program} demo --keep     keep it, and look at the plain files")
        click.echo(f"  {program} list --all      what your own tools have")
        click.echo(f"  {program} --help          everything else")
