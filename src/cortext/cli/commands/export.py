"""`cortext export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from cortext.cli.common_options import check_store, complete_id
from cortext.cli.select_conversation import choose
from cortext.cli.terminal_text import can_ask, clean
from cortext.errors import SessionNotFoundError
from cortext.features.capture.capture import capture_pending
from cortext.features.listing.session_of_row import read_all
from cortext.features.listing.store_sessions import show_session
from cortext.features.transfer.export import FORMATS, format_for, target_file, write_export
from cortext.formats.exports.export_codec import encode
from cortext.formats.record_lines import Damage
from cortext.model.session import Session


@click.command("export")
@click.argument("query", nargs=-1, required=True, shell_complete=complete_id)
@click.option("--format", "format", type=click.Choice(FORMATS), help="By default, as FILE's name.")
@click.option("-o", "output", metavar="FILE", help="Write to FILE, or to ID.FORMAT in a folder.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--store", metavar="URL", callback=check_store, help="Look in a store, by id.")
def command(
    query: tuple[str, ...], format: str | None, output: str | None, force: bool, store: str | None
) -> None:
    """Write a conversation to a file: markdown, a web page, or JSON.

    QUERY is an id, the beginning of one, words of the title, or words that were said. Without -o
    it goes to standard output, as markdown unless --format says otherwise. `cortext import` reads
    each of them back.
    """
    found = _find(" ".join(query), store)
    written = encode(found.session, format or format_for(output or ""))
    if output is None or output == "-":
        sys.stdout.buffer.write(written)
    else:
        path = target_file(output, found.session.id, format or format_for(output))
        write_export(path, written, overwrite=force or _may_overwrite(path))
        click.echo(f"{found.session.id} is in {clean(path, lines=False)}", err=True)
    if found.side:
        what = "1 sub-agent" if found.side == 1 else f"{found.side} sub-agents"
        click.echo(f"what {what} said is not in it; `cortext show --full` has it", err=True)
    _warn(found.damages)


class _ExportedSession(NamedTuple):
    session: Session
    damages: Sequence[Damage]
    side: int = 0
    """How many sub-agents spoke beside it."""


def _find(query: str, store: str | None) -> _ExportedSession:
    if store is not None:
        return _ExportedSession(*show_session(store, query))
    row = choose(query, forgiving=True)
    if not row.status:
        missing = SessionNotFoundError(row.key)
        missing.hint = f"only its markdown is there: {clean(row.place.folder, lines=False)}"
        raise missing
    read = read_all(capture_pending(row))
    return _ExportedSession(read.session, read.damages, len(read.side))


def _may_overwrite(path: str) -> bool:
    """Return whether the file exists and the user agrees to overwrite it.

    Abort if the user declines. Without a terminal return False, so that the write fails with an
    error that names the file.
    """
    if not (os.path.lexists(path) and can_ask()):
        return False
    click.confirm(f"{clean(path, lines=False)} is there; write over it?", abort=True, err=True)
    return True


def _warn(damages: Sequence[Damage]) -> None:
    """Print warnings about the parts of a conversation that are missing in the export.

    Exit with 5 if something that was written is lost.
    """
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {where}: {clean(damage.detail, lines=False)}", err=True)
    if any(damage.fatal for damage in damages):
        raise click.exceptions.Exit(5)
