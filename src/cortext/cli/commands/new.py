"""The command `cortext new`: start a conversation."""

from __future__ import annotations

import click

from cortext import paths
from cortext.cli.common_options import plain_words
from cortext.cli.conversation_completion import complete_type
from cortext.features.capture.agent_config import note_current_config
from cortext.workspace.conversation_types import Types
from cortext.workspace.workspace import Workspace


# Ignore unknown options, because a topic may begin with a hyphen.
@click.command("new", context_settings={"ignore_unknown_options": True})
@click.argument("type", metavar="TYPE", required=False, shell_complete=complete_type)
@click.argument("topic", nargs=-1, metavar="TOPIC...", callback=plain_words)
def command(type: str | None, topic: tuple[str, ...]) -> None:
    """Start a conversation, and print the path of its markdown file.

    TYPE is brainstorm, debug, plan, learn, meeting, review, or a type of your own. TOPIC says what
    the conversation is about. Outside a workspace, the conversation goes to your personal
    workspace.
    """
    workspace = Workspace.find()
    if type is None or not topic:
        types = Types(workspace.root).names()
        what = "the TOPIC" if type in types else "the TYPE and the TOPIC"
        raise click.UsageError(f"Give {what} of the conversation. Types are {', '.join(types)}.")
    started = workspace.new(type.lower(), " ".join(topic))
    note_current_config(workspace, started.session)
    if workspace.root == paths.personal_workspace():
        click.echo(
            "There is no workspace here; the conversation is in your personal workspace.", err=True
        )
    click.echo(started.document)
    click.echo(f"{started.session.id} is active; `cortext stop` pauses it", err=True)
