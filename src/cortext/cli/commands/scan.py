"""`cortext scan`."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import all_option, complete_id, json_option, print_json
from cortext.cli.list_options import SourceType
from cortext.cli.progress import ProgressBar
from cortext.cli.select_conversation import choose, describe
from cortext.cli.terminal_text import one_line
from cortext.cli.views.list_view import say_missing
from cortext.cli.warnings import missed
from cortext.errors import SessionNotFoundError
from cortext.features.capture.capture import capture_pending
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.trash import find_entry
from cortext.features.secrets.redact_archive import is_archive_redacted
from cortext.features.secrets.scan import (
    Finding,
    ScanResult,
    archive_row,
    scan,
    state_row,
    trash_rows,
)
from cortext.features.secrets.tool_files import how_to_remove
from cortext.model.secrets.detector import mask_text

EMPTY = "a file or a folder in it is called so: `cortext trash empty` removes it for good"
RENAME = "a file or a folder is called so: rename it; no command does that for you"


@click.command("scan")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option("--tool", type=SourceType(), help="Only what was had in this tool.")
@json_option
def command(query: tuple[str, ...], everywhere: bool, tool: str | None, as_json: bool) -> None:
    """Look for keys and passwords in conversations; nothing is changed.

    QUERY is an id, the beginning of one, or words of the title. Without it, all that are listed
    here; with --all, everything: workspaces, sessions of `spawn`, documents, what the AI tools
    and our archive keep, and the trash. A secret is never printed. Exit code 1: something was
    found, or not all could be looked at; 0: nothing, and all was looked at.
    """
    with missed() as passed_over:
        rows = [named(" ".join(query), tool)] if query else listed(everywhere, tool)
        scanned = look(rows)
    names = ids_of(rows)
    if as_json:
        print_json([_as_dict(one, names) for one in scanned.found])
    else:
        _print(scanned.found, names)
    whole = not (passed_over or scanned.unread)
    _say_end(scanned, whole=whole)
    if scanned.found or not whole:
        raise click.exceptions.Exit(1)


def named(query: str, tool: str | None = None) -> ConversationRow:
    """Return the conversation that `query` names, or a deleted conversation from the trash."""
    try:
        return capture_pending(choose(query, wanted=ListFilter(tool=tool)))
    except SessionNotFoundError:
        entry = None if tool else find_entry(query)
        if entry is None:
            raise
        click.echo("it is in the trash", err=True)
        return next(row for row in trash_rows() if row.key == entry.id)


def listed(everywhere: bool, tool: str | None) -> list[ConversationRow]:
    """Return the conversations of this workspace, or with `everywhere` those of all workspaces.

    With `everywhere` and no `tool`, add rows for the trash, and for files of the archive and of
    programs that belong to no listed session.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    which = ListFilter(tool=tool)
    rows, missing = conversations.list(
        which, capture=True, patience=None, copies=everywhere, empty=True
    )
    for root in missing:
        say_missing(root)
    _pass_over(conversations.damaged)
    aside = [*trash_rows(), archive_row(), state_row()] if everywhere and not tool else []
    return [*rows, *aside]


def _pass_over(notes: Sequence[str]) -> None:
    """Log a warning for each damaged session file that cannot be listed and so is not scanned."""
    for note in notes:
        logging.getLogger("cortext.scan").warning("could not read %s", note)


def look(rows: Sequence[ConversationRow]) -> ScanResult:
    """Scan the conversations for secrets, with a progress bar, and return the result."""
    bar = ProgressBar("looking through conversations")
    try:
        return scan(rows, bar.progress)
    finally:
        bar.clear()


def ids_of(rows: Sequence[ConversationRow]) -> dict[tuple[str, str], str]:
    """Return the id of each row, by the row's identity.

    If several rows have the same id, the returned id includes the day, so that every command finds
    the right conversation.
    """
    counted = Counter(row.key for row in rows)
    return {row.identity: row.key if counted[row.key] == 1 else row.address for row in rows}


def place_of(one: Finding) -> str:
    """Return where in a conversation a secret was found, for example `user #7`."""
    return f"{one.role} #{one.message}" if one.message else one.role


def told(text: str) -> str:
    """Return a text for display, on one line and with its secrets redacted.

    A title or a file name can contain a secret too: some tools use the first request as the title.
    """
    return one_line(mask_text(text)[0])


def told_path(path: str) -> str:
    """Return a path for JSON output. It is unchanged unless the path itself contains a secret."""
    return mask_text(path)[0]


def print_findings(found: Sequence[Finding]) -> None:
    """Print one aligned line for each finding."""
    lines = [(str(one.number), one.family, place_of(one), one.preview) for one in found]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, *rest in lines:
        cells = [number.rjust(widths[0])]
        cells += [cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        click.echo(one_line("  " + "  ".join(cells).rstrip()))


def _print(found: Sequence[Finding], names: dict[tuple[str, str], str]) -> None:
    for _, group in groupby(found, key=lambda one: one.row.identity):
        each = list(group)
        row = each[0].row
        click.echo(told(describe(row)))
        print_findings(each)
        for path in sorted({one.path for one in each if one.ours}):
            click.echo(f"  in {told(path)}")
        for sentence in _advice(each, names[row.identity]):
            click.echo(f"  {told(sentence)}")
        click.echo()


def _advice(found: Sequence[Finding], id: str) -> Iterator[str]:
    """Yield lines that say how to remove the found secrets.

    Our own files are redacted, other files are changed in the tool.
    """
    row, copies = found[0].row, [one for one in found if one.is_copy]
    yield from lasting(found)
    if any(one.ours and not one.is_copy and not one.stays for one in found):
        of = "--all" if row.tool == "state" else id
        yield f"`cortext redact {of}` masks it" + (" here" if copies else "")
    if row.tool == "archive":
        yield "`cortext redact --all --archive` masks our copies"
    elif copies:
        yield f"`cortext redact {id} --archive` masks it in our copies too"
    yield from theirs(found, id)


def lasting(found: Sequence[Finding]) -> Iterator[str]:
    """Yield lines about secrets that `redact` never changes, and how to remove them."""
    if any(one.is_name for one in found):
        yield EMPTY if found[0].row.tool == "trash" else RENAME
    for path in sorted({one.path for one in found if one.stays and not one.is_name}):
        yield f"{path}: {how_to_remove(path)}"


def theirs(found: Sequence[Finding], id: str) -> Iterator[str]:
    """Yield lines about secrets in the tools' own files, and how to remove them there."""
    for path in sorted({one.path for one in found if not one.ours}):
        yield f"not touched, it is the tool's own: {path}"
        yield f"  {how_to_remove(path)}"
    tools = [one for one in found if not one.ours]
    if not tools or any(one.is_copy for one in found):
        return

    if not is_archive_redacted(found[0].row, tools):
        yield f"  `cortext redact {id} --archive` keeps it out of our copies"


def _as_dict(one: Finding, names: dict[tuple[str, str], str]) -> dict[str, object]:
    return {
        "id": names[one.row.identity],
        "finding": one.number,
        "family": one.family,
        "message": one.message or None,
        "role": one.role,
        "preview": one.preview,
        "path": told_path(one.path),
        "ours": one.ours,
        "tool": one.row.tool_name or None,
        "title": told(one.row.title),
    }


def _say_end(scanned: ScanResult, *, whole: bool) -> None:
    for sentence in scanned.unread:
        click.echo(f"not looked at: {told(sentence)}", err=True)
    count, rows = len(scanned.found), len({one.row.identity for one in scanned.found})
    what = f"{count} secrets in {rows}" if count != 1 else f"1 secret in {rows}"
    said = what if count else "no secrets in"
    of = f" of {scanned.looked:,}" if count else f" {scanned.looked:,}"
    plural = "" if scanned.looked == 1 else "s"
    rest = "" if whole else "; not all could be looked at"
    click.echo(f"{said}{of} conversation{plural}{rest}", err=True)
