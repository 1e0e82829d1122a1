"""The command `cortext export`: write a conversation to an md, html, json or jsonl file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import msgspec

from cortext.cli.common_options import Number
from cortext.cli.conversation_choice import choose
from cortext.cli.conversation_completion import complete_id
from cortext.cli.error_output import OptionValueError
from cortext.cli.store_option import check_store
from cortext.cli.terminal_text import can_ask, clean
from cortext.errors import SessionNotFoundError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.session_of_row import read_all
from cortext.features.listing.store_sessions import show_session
from cortext.features.transfer.export import FORMATS, format_for, target_file, write_export
from cortext.features.transfer.export_selection import (
    ExportSelection,
    redact_session,
    select_parts,
)
from cortext.features.transfer.exported_markdown import attach_document, without_document
from cortext.formats.exports.export_formats import encode
from cortext.formats.message_lines import Damage
from cortext.model.session import Session


@click.command("export")
@click.argument("query", nargs=-1, required=True, shell_complete=complete_id)
@click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    help="The file format.  [default: the suffix of FILE, otherwise md]",
)
@click.option(
    "-o",
    "output",
    metavar="FILE",
    help="Write to FILE. If FILE is a folder, write to ID.FORMAT in that folder.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option(
    "--store",
    metavar="URL",
    callback=check_store,
    help="Export a session of this store, by its id.",
)
@click.option(
    "--from", "first", type=Number(min=1), metavar="N", help="Start with message number N."
)
@click.option("--to", "last", type=Number(min=1), metavar="N", help="End with message number N.")
@click.option("--no-tools", is_flag=True, help="Leave out tool calls and their results.")
@click.option(
    "--redact",
    is_flag=True,
    help="Replace keys and passwords in the export. The conversation does not change.",
)
def command(
    query: tuple[str, ...],
    format: str | None,
    output: str | None,
    force: bool,
    store: str | None,
    first: int | None,
    last: int | None,
    no_tools: bool,
    redact: bool,
) -> None:
    """Write a conversation to a file as markdown, HTML or JSON.

    QUERY is an id, the start of an id, words of the title, or words of the messages. Without -o,
    the conversation goes to standard output; the default format is markdown. `cortext import` can
    read every format.

    --from and --to take the message numbers that `cortext show` prints.
    """
    if first and last and first > last:
        raise click.UsageError("--from is after --to")
    exported = _find(" ".join(query), store)
    count = len(exported.session.messages)
    if (number := first or (last if not count else 0)) and number > count:
        has = f"has {count:,}" if count else "has no messages"
        raise OptionValueError(f"no message {number}; this conversation {has}")
    session = exported.session
    if first or last:
        # Leave out the document, because it is about the whole conversation.
        session, left_out = without_document(session)
        if left_out:
            click.echo(f"{left_out.name} is not included, because this is only a part.", err=True)
    if first or last or no_tools:
        selection = ExportSelection(first or 1, last, tools=not no_tools)
        session = select_parts(session, selection)
    redacted = 0
    if redact:
        session, redacted = redact_session(session)
    data = encode(session, format or format_for(output or ""))
    if output is None or output == "-":
        sys.stdout.buffer.write(data)
    else:
        path = target_file(output, exported.session.id, format or format_for(output))
        write_export(path, data, overwrite=force or _may_overwrite(path))
        click.echo(f"Wrote {exported.session.id} to {clean(path, lines=False)}", err=True)
    if redact:
        what = "1 secret was" if redacted == 1 else f"{redacted} secrets were"
        click.echo(f"{what} redacted in the export.", err=True)
    if exported.sub_agents:
        what = "1 sub-agent" if exported.sub_agents == 1 else f"{exported.sub_agents} sub-agents"
        click.echo(
            f"The messages of {what} are not included. `cortext show --full` shows them.", err=True
        )
    _warn(exported.damages)


class _ExportedSession(msgspec.Struct, frozen=True):
    session: Session
    damages: Sequence[Damage]
    sub_agents: int = 0
    """The number of sub-agents of the session."""


def _find(query: str, store: str | None) -> _ExportedSession:
    if store is not None:
        return _ExportedSession(*show_session(store, query))
    row = choose(query, forgiving=True)
    if not row.status:
        missing = SessionNotFoundError(row.key)
        missing.hint = f"only its markdown exists: {clean(row.place.folder, lines=False)}"
        raise missing
    read = read_all(capture_pending(row))
    session = attach_document(read.session, row)
    return _ExportedSession(session, read.damages, len(read.side))


def _may_overwrite(path: str) -> bool:
    """Ask whether the export may overwrite the file `path`, and return True if the user agrees.

    If the user declines, abort the command. If the file does not exist, or if there is no terminal
    to ask on, return False without a question.
    """
    if not (os.path.lexists(path) and can_ask()):
        return False
    click.confirm(f"{clean(path, lines=False)} exists. Overwrite it?", abort=True, err=True)
    return True


def _warn(damages: Sequence[Damage]) -> None:
    """Print a warning for each damaged part of the conversation.

    A fatal damage means that saved messages are missing in the export. If there is a fatal damage,
    exit with code 5.
    """
    for damage in damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {where}: {clean(damage.detail, lines=False)}", err=True)
    if any(damage.fatal for damage in damages):
        raise click.exceptions.Exit(5)
