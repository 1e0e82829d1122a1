"""`cortext delete`."""

from __future__ import annotations

import click

from cortext.catalog.row import AUR, ConversationRow
from cortext.cli.common_options import complete_id
from cortext.cli.confirm import agree, expire, yes_option
from cortext.cli.select_conversation import choose, describe
from cortext.cli.spawn_actions import delete_one
from cortext.cli.standalone_refusals import not_deleted
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted
from cortext.features.archive.archive_sync import forget
from cortext.features.manage.trash import delete, delete_log, files_of_log


@click.command("delete")
@click.argument("id", nargs=-1, shell_complete=complete_id, required=True)
@yes_option
def command(id: tuple[str, ...], yes: bool) -> None:
    """Move a conversation, with its markdown, or a session of `spawn` to the trash; of a session of
    an AI tool, our copy: what the tool itself keeps is not touched. Of a session that a program
    keeps by an adapter, all that the adapter keeps of it, as the checkpoints of a thread."""
    row = choose(" ".join(id), origins=False)
    if row.tool == AUR:
        agree(f"Delete session {row.key}?", yes)
        delete_one(row.key)
        return
    if row.is_log:
        _delete_log(row, yes)
        return
    if row.is_standalone:
        raise not_deleted(row)
    if row.tool:
        _forget(row, yes)
        return
    click.echo(f"to the trash: {describe(row)}, {counted(row.messages, 'message')}", err=True)
    agree("delete it?", yes)
    entry = delete(row)
    click.echo(f"deleted; `cortext trash restore {entry.id[:8]}` brings it back")
    expire()


def _delete_log(row: ConversationRow, yes: bool) -> None:
    beside = len(files_of_log(row)) - 1
    more = f", and {counted(beside, 'file')} of its program beside it" if beside else ""
    click.echo(f"to the trash: {describe(row)}, {counted(row.messages, 'message')}{more}", err=True)
    agree("delete it? a program that goes on with it begins it anew", yes)
    entry = delete_log(row)
    click.echo(f"deleted; `cortext trash restore {entry.id[:8]}` brings it back")
    expire()


def _forget(row: ConversationRow, yes: bool) -> None:
    click.echo(f"to the trash: our copy of {describe(row)}", err=True)
    agree("delete it?", yes)
    done = forget(row.tool, row.key, row.title)
    click.echo(clean(done.sentence, lines=False))
    if done.entry:
        click.echo(f"`cortext trash restore {done.entry.id[:8]}` brings it back")
    expire()
