"""The command `cortext delete`: move a conversation to the trash."""

from __future__ import annotations

import click

from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.confirmation import agree, expire, yes_option
from cortext.cli.conversation_choice import choose, describe
from cortext.cli.conversation_completion import complete_id
from cortext.cli.spawn_actions import delete_one
from cortext.cli.terminal_text import clean
from cortext.cli.unsupported_actions import cannot_delete_error
from cortext.cli.views.bar_chart import counted
from cortext.features.archive.archive_sync import forget
from cortext.features.manage.trash import delete, delete_log, files_of_log


@click.command("delete")
@click.argument("id", nargs=-1, shell_complete=complete_id, required=True)
@yes_option
def command(id: tuple[str, ...], yes: bool) -> None:
    """Move a conversation or a session of `spawn` to the trash.

    The markdown of a conversation moves with it. For a session of an AI tool, only cortext's copy
    moves to the trash; the tool's own files do not change. For a session of a program that uses a
    cortext adapter (for example for LangGraph), all files of the session move to the trash.
    """
    row = choose(" ".join(id), origins=False)
    if row.tool == AUR:
        agree(f"Delete session {row.key}?", yes)
        delete_one(row.key)
        return
    if row.is_log:
        _delete_log(row, yes)
        return
    if row.is_standalone:
        raise cannot_delete_error(row)
    if row.tool:
        _delete_copy(row, yes)
        return
    what = f"{describe(row)}, {counted(row.messages, 'message')}"
    click.echo(f"will be moved to the trash: {what}", err=True)
    agree("Delete it?", yes)
    entry = delete(row)
    click.echo(f"Deleted. `cortext trash restore {entry.id[:8]}` restores it.")
    expire()


def _delete_log(row: ConversationRow, yes: bool) -> None:
    other_files = len(files_of_log(row)) - 1
    more = f", and {counted(other_files, 'other file')} of its program" if other_files else ""
    what = f"{describe(row)}, {counted(row.messages, 'message')}{more}"
    click.echo(f"will be moved to the trash: {what}", err=True)
    click.echo("A program that continues this session will start with an empty session.", err=True)
    agree("Delete it?", yes)
    entry = delete_log(row)
    click.echo(f"Deleted. `cortext trash restore {entry.id[:8]}` restores it.")
    expire()


def _delete_copy(row: ConversationRow, yes: bool) -> None:
    click.echo(f"will be moved to the trash: cortext's copy of {describe(row)}", err=True)
    agree("Delete it?", yes)
    result = forget(row.tool, row.key, row.title)
    click.echo(clean(result.sentence, lines=False))
    if result.entry:
        click.echo(f"`cortext trash restore {result.entry.id[:8]}` restores it.")
    expire()
