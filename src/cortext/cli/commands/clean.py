"""The command `cortext clean`: move old completed conversations to the trash."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import Number, all_option
from cortext.cli.confirmation import agree, expire, yes_option
from cortext.cli.conversation_choice import describe
from cortext.cli.log_warnings import missed
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted
from cortext.errors import CortextError, reason_of
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.trash import delete, is_idle_since


@click.command("clean")
@click.argument("days", type=Number(0, 36_500))
@all_option
@yes_option
def command(days: int, everywhere: bool, yes: bool) -> None:
    """Move old completed conversations to the trash.

    A conversation is old if nobody used it for DAYS days. The command lists the conversations and
    asks first. If a conversation cannot be read or moved, the command names it, moves the others,
    and exits with code 1.
    """
    limit = int((time.time() - days * 86_400) * 1_000_000)
    with missed() as skipped:
        conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
        completed = conversations.list(ListFilter(status="completed", tool="")).rows
        unread: list[str] = []
        old = [row for row in completed if _is_unused(row, limit, unread)]
    failed: list[str] = []
    if old:
        for row in old:
            click.echo(f"will be moved to the trash: {describe(row)}", err=True)
        agree(f"Delete {counted(len(old), 'conversation')}?", yes)
        for row in old:
            with _report_errors(row, failed):
                delete(row, unless=lambda row=row: not is_idle_since(row, limit))
        moved = len(old) - len(failed)
        what = counted(moved, "conversation")
        click.echo(f"{what} moved to the trash. `cortext trash` lists deleted conversations.")
        expire()
    else:
        click.echo(
            f"No completed conversation has been unused for {counted(days, 'day')}.", err=True
        )
    if unread or failed or skipped:
        raise click.exceptions.Exit(1)


def _is_unused(row: ConversationRow, limit: int, failed: list[str]) -> bool:
    """Return whether a conversation has not been used since the time `limit`.

    `limit` is in microseconds since 1970. If the conversation cannot be read, print the error, add
    its id to `failed`, and return False.
    """
    with _report_errors(row, failed):
        return is_idle_since(row, limit)
    return False


@contextmanager
def _report_errors(row: ConversationRow, failed: list[str]) -> Generator[None]:
    """Catch an error inside the `with` block, and print it.

    Also add the id of the conversation `row` to `failed`.
    """
    try:
        yield
    except (CortextError, OSError) as error:
        failed.append(row.key)
        why = error if isinstance(error, CortextError) else reason_of(error)
        click.echo(f"not deleted: {clean(f'{row.key}: {why}', lines=False)}", err=True)
