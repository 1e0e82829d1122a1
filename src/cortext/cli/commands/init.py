"""`cortext init`."""

from __future__ import annotations

import os
import sys

import click

from cortext.app.init import initialize
from cortext.cli.text import clean


@click.command("init")
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files that you have changed.")
def command(path: str, force: bool) -> None:
    """Make a folder a workspace. What you have changed in it is kept, unless you say otherwise."""

    def overwrite(name: str, difference: str) -> bool:
        if force:
            return True
        if not sys.stdin.isatty():
            return False
        click.echo(clean(difference), err=True)
        return click.confirm(f"overwrite {name}?", err=True)

    result = initialize(os.path.abspath(path), overwrite=overwrite)
    for name in result.kept:
        click.echo(f"kept as you have it: {name}  (--force overwrites it)", err=True)
    if result.made:
        click.echo(f"{os.path.abspath(path)} is a workspace: {len(result.made)} files written")
        click.echo('next: cortext new brainstorm "your topic"', err=True)
    else:
        click.echo(f"{os.path.abspath(path)} is a workspace already; nothing to do")
