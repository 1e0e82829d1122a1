"""`cortext stop`."""

from __future__ import annotations

import sys

import click

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.common_options import complete_id, plain_words
from cortext.cli.select_conversation import choose_active
from cortext.cli.standalone_refusals import not_stopped
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import short, short_id
from cortext.features.listing.folder_filters import is_in_folder
from cortext.features.manage.adopt import as_conversation
from cortext.features.manage.stop import Stopped, stop


@click.command("stop", context_settings={"ignore_unknown_options": True})
@click.argument("id", nargs=-1, shell_complete=complete_id, callback=plain_words)
@click.option("--summary", help="Where the conversation stopped; made from it when not given.")
def command(id: tuple[str, ...], summary: str | None) -> None:
    """Save a conversation and pause it. Without an ID: the only active one."""
    end(choose_active(id), summary)


def end(chosen: ConversationRow, summary: str | None, *, completed: bool = False) -> None:
    """Stop the chosen conversation and print the result.

    If it is in the personal workspace, also print that no project's repository contains it.
    """
    row = _stoppable(chosen)
    stopped = stop(row, summary=summary, completed=completed)
    _confirm(row, stopped, "completed" if completed else "paused")
    if row.workspace == paths.personal_workspace():
        _say_personal(row, is_new=bool(chosen.tool))


def _say_personal(row: ConversationRow, *, is_new: bool) -> None:
    """Print that a conversation is in the personal workspace, and how to copy it to this workspace.

    `is_new` tells whether the conversation was just made of a tool session.
    """
    where, here = f"kept in your personal workspace, {short(row.workspace)}", paths.workspace_root()
    if here != row.workspace and is_in_folder(here)(row):
        copies = f"`cortext export {short_id(row)} | cortext import -` copies it here"
        click.echo(f"{where}, and not in this one: {copies}", err=True)
    elif is_new:
        click.echo(
            f"{where}; `cortext init` makes a project a workspace, and git can carry what you stop "
            "there",
            err=True,
        )


def _stoppable(row: ConversationRow) -> ConversationRow:
    """Return the conversation to stop.

    A session of a tool or program becomes a conversation first. Raises CortextError for a session
    of `spawn`.
    """
    if row.tool == AUR:
        raise not_stopped(row)
    return as_conversation(row)


def _confirm(row: ConversationRow, stopped: Stopped, status: str) -> None:
    """Print what was saved, and how to resume the conversation."""
    title = clean(stopped.title, lines=False)
    click.echo("Session saved.\n")
    click.echo(f'Conversation "{title}" has been {status}.')
    click.echo("You can continue later with /workspace.resume\n")
    click.echo(f"Summary: {clean(stopped.summary, lines=False) or 'nothing was said yet'}")
    if sys.stderr.isatty():
        click.echo(f"In a shell: cortext resume {short_id(row)}", err=True)
    for note in stopped.notes:
        click.echo(clean(note, lines=False), err=True)
