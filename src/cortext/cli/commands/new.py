"""`cortext new`."""

from __future__ import annotations

import click

from cortext import paths
from cortext.cli.common_options import complete_type, plain_words
from cortext.features.capture.model_and_servers import note_config_here
from cortext.workspace.type_templates import Types
from cortext.workspace.workspace import Workspace


# A topic may begin with a hyphen.
@click.command("new", context_settings={"ignore_unknown_options": True})
@click.argument("type", metavar="TYPE", required=False, shell_complete=complete_type)
@click.argument("topic", nargs=-1, metavar="TOPIC...", callback=plain_words)
def command(type: str | None, topic: tuple[str, ...]) -> None:
    """Begin a conversation, and print the path of its markdown.

    TYPE is brainstorm, debug, plan, learn, meeting, review, or one of your own. Outside any
    workspace it goes to your personal one.
    """
    workspace = Workspace.find()
    if type is None or not topic:
        types = Types(workspace.root).names()
        what = "after its type" if type in types else "of which type it is, and then"
        raise click.UsageError(f"say {what} what it is about; types are {', '.join(types)}")
    started = workspace.new(type.lower(), " ".join(topic))
    note_config_here(workspace, started.session)
    if workspace.root == paths.personal_workspace():
        click.echo("no workspace here, so it is in your personal one", err=True)
    click.echo(started.document)
    click.echo(f"{started.session.id} is active; `cortext stop` pauses it", err=True)
