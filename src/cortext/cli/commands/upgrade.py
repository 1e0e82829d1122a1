"""`cortext upgrade`."""

from __future__ import annotations

import os

import click

from cortext import paths
from cortext.cli.commands.init import bring_up_to_date
from cortext.errors import CortextError


@click.command("upgrade")
@click.argument("path", required=False, type=click.Path(file_okay=False, exists=True))
@click.option("--force", is_flag=True, help="Overwrite files that you have changed.")
def command(path: str | None, force: bool) -> None:
    """Bring the command texts and templates of a workspace to those of this cortext.

    Its AI tools get commands for types that are new. What you have changed is kept: the
    difference is shown, and you are asked.
    """
    root = paths.workspace_root(path)
    if not os.path.isdir(os.path.join(root, ".workspace")):
        raise CortextError("this is no workspace", hint="`cortext init` makes one")
    result = bring_up_to_date(root, force=force)
    if result.made:
        for name in result.made:
            click.echo(f"upgraded: {name}")
    else:
        click.echo("nothing to upgrade")
