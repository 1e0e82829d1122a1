"""The command `cortext upgrade`: update cortext's files in a workspace."""

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
    """Update the command texts and templates of a workspace to this version of cortext.

    New conversation types also get slash commands in the AI tools of the workspace. If you have
    changed a file, the command shows the difference and asks before it overwrites the file.
    """
    root = paths.workspace_root(path)
    if not os.path.isdir(os.path.join(root, ".workspace")):
        raise CortextError("this is not a workspace", hint="to create a workspace: `cortext init`")
    result = bring_up_to_date(root, force=force)
    if result.made:
        for name in result.made:
            click.echo(f"{'created' if name in result.created else 'upgraded'}: {name}")
    else:
        click.echo("Nothing to upgrade.")
