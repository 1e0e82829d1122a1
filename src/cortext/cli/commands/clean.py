"""`cortext clean`."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import Number, all_option
from cortext.cli.confirm import agree, expire, yes_option
from cortext.cli.select_conversation import describe
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted
from cortext.cli.warnings import missed
from cortext.errors import CortextError, reason_of
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.trash import delete, rests_since


@click.command("clean")
@click.argument("days", type=Number(0, 36_500))
@all_option
@yes_option
def command(days: int, everywhere: bool, yes: bool) -> None:
    """Move completed conversations that nobody touched for DAYS to the trash.

    Exit code 1: one was kept, or could not be looked at; it is said which, and all others are
    gone.
    """
    limit = int((time.time() - days * 86_400) * 1_000_000)
    with missed() as passed_over:
        conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
        completed = conversations.list(ListFilter(status="completed", tool="")).rows
        unread: list[str] = []
        old = [row for row in completed if _rests(row, limit, unread)]
    kept: list[str] = []
    if old:
        for row in old:
            click.echo(f"to the trash: {describe(row)}", err=True)
        agree("delete it?" if len(old) == 1 else f"delete these {len(old)}?", yes)
        for row in old:
            with _keeping(row, kept):
                delete(row, unless=lambda row=row: not rests_since(row, limit))
        gone = len(old) - len(kept)
        click.echo(f"{gone} deleted; `cortext trash` has {'it' if gone == 1 else 'them'}")
        expire()
    else:
        click.echo(f"no completed conversation rested for {counted(days, 'day')}", err=True)
    if unread or kept or passed_over:
        raise click.exceptions.Exit(1)


def _rests(row: ConversationRow, limit: int, kept: list[str]) -> bool:
    """Return whether a conversation has been unused since `limit`.

    If the conversation cannot be read, print the error, add its id to `kept` and return False.
    """
    with _keeping(row, kept):
        return rests_since(row, limit)
    return False


@contextmanager
def _keeping(row: ConversationRow, kept: list[str]) -> Generator[None]:
    """Print an error of the block instead of raising it.

    The id of the failed conversation is added to `kept`.
    """
    try:
        yield
    except (CortextError, OSError) as error:
        kept.append(row.key)
        why = error if isinstance(error, CortextError) else reason_of(error)
        click.echo(f"kept: {clean(f'{row.key}: {why}', lines=False)}", err=True)
