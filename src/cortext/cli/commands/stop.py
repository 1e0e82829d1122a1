"""The command `cortext stop`: save a conversation and pause it."""

from __future__ import annotations

import click

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.common_options import query_words
from cortext.cli.conversation_choice import choose_active
from cortext.cli.conversation_completion import complete_id
from cortext.cli.terminal_text import clean
from cortext.cli.unsupported_actions import cannot_stop_error
from cortext.cli.views.list_view import short, short_id
from cortext.features.listing.row_filters import is_in_folder
from cortext.features.manage.adopt_session import as_conversation
from cortext.features.manage.stop_conversation import Stopped, stop


@click.command("stop", context_settings={"ignore_unknown_options": True})
@click.argument("id", nargs=-1, shell_complete=complete_id, callback=query_words)
@click.option("--summary", help="A summary of the conversation.  [default: made from its messages]")
def command(id: tuple[str, ...], summary: str | None) -> None:
    """Save a conversation and pause it.

    Without ID, the active conversation is saved. If several are active, the command asks which one.
    """
    end(choose_active(id), summary)


def end(chosen: ConversationRow, summary: str | None, *, completed: bool = False) -> None:
    """Stop a conversation, and print the result.

    The conversation is saved. If `completed` is True, it is marked as completed, otherwise as
    paused. `summary` is the user's summary, or None. If the conversation is in the personal
    workspace, also print where it is and how to share it.
    """
    row = _as_stoppable(chosen)
    stopped = stop(row, summary=summary, completed=completed)
    _print_result(row, stopped, "completed" if completed else "paused")
    if row.workspace == paths.personal_workspace():
        _print_personal(row, is_new=bool(chosen.tool))


def _print_personal(row: ConversationRow, *, is_new: bool) -> None:
    """Print that a conversation was saved in the personal workspace, and a hint.

    If the conversation took place in the folder of the current workspace, the hint says how to copy
    it into this workspace. For any other conversation, the hint says how to make a workspace. In
    this second case, print nothing if `is_new` is False. `is_new` means that the conversation was
    just created from a tool session.
    """
    saved = f"Saved in your personal workspace, {short(row.workspace)}"
    root = paths.workspace_root()
    if root != row.workspace and is_in_folder(root)(row):
        copy = f"`cortext export {short_id(row)} | cortext import -`"
        click.echo(f"{saved}, and not in this workspace.", err=True)
        click.echo(f"hint: to copy it here: {copy}", err=True)
    elif is_new:
        click.echo(f"{saved}.", err=True)
        click.echo(
            "hint: `cortext init` makes a project a workspace; git can then share conversations",
            err=True,
        )


def _as_stoppable(row: ConversationRow) -> ConversationRow:
    """Return the conversation to stop.

    If `row` is a session of a tool or program, first save it as a conversation. Raises CortextError
    for a session of `spawn`, which cannot be stopped.
    """
    if row.tool == AUR:
        raise cannot_stop_error(row)
    return as_conversation(row)


def _print_result(row: ConversationRow, stopped: Stopped, status: str) -> None:
    """Print the title, the new status and the summary, and how to resume the conversation."""
    title = clean(stopped.title, lines=False)
    click.echo("Session saved.\n")
    click.echo(f'Conversation "{title}" has been {status}.')
    click.echo("You can continue later with /workspace.resume")
    reopen = " --reopen" if status == "completed" else ""
    click.echo(f"In a shell: cortext resume {short_id(row)}{reopen}", err=True)
    click.echo(f"\nSummary: {clean(stopped.summary, lines=False) or 'no messages yet'}")
    for note in stopped.notes:
        click.echo(clean(note, lines=False), err=True)
