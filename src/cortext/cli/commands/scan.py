"""The command `cortext scan`: find keys and passwords in conversations."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import all_option, json_option, print_json
from cortext.cli.conversation_choice import choose, describe
from cortext.cli.conversation_completion import complete_id
from cortext.cli.list_options import SourceType
from cortext.cli.log_warnings import missed
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import one_line
from cortext.cli.views.bar_chart import counted
from cortext.cli.views.list_view import say_missing
from cortext.errors import SessionNotFoundError
from cortext.features.capture.capture_before_reading import capture_pending
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.manage.trash import find_entry
from cortext.features.secrets.archive_redaction import is_archive_redacted
from cortext.features.secrets.secret_scan import (
    Finding,
    ScanResult,
    archive_row,
    scan,
    state_row,
    trash_rows,
)
from cortext.features.secrets.tool_session_files import describe_removal
from cortext.model.secrets.detector import mask_text

EMPTY = (
    "the name of a file or folder contains a secret: `cortext trash empty` deletes it permanently"
)
RENAME = "the name of a file or folder contains a secret: rename it; no command does that for you"


@click.command("scan")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option(
    "--tool",
    type=SourceType(),
    help="Scan only sessions of this tool. `document` means sessions of your own programs.",
)
@json_option
def command(query: tuple[str, ...], everywhere: bool, tool: str | None, as_json: bool) -> None:
    """Find keys and passwords in conversations. Nothing is changed.

    QUERY is an id, the beginning of an id, or words of the title. Without QUERY, the command scans
    the conversations that `cortext list` shows here. --all scans everything: workspaces, sessions
    of `spawn`, sessions of programs, the AI tools' transcripts, the archive and the trash. Secrets
    are never printed in full.

    The exit code is 0 if everything was scanned and no secret was found. It is 1 if a secret was
    found, or if something could not be scanned.
    """
    with missed() as skipped:
        rows = [named(" ".join(query), tool)] if query else listed(everywhere, tool)
        scanned = look(rows)
    names = ids_of(rows)
    if as_json:
        print_json([_as_dict(finding, names) for finding in scanned.found])
    else:
        _print_groups(scanned.found, names)
    is_complete = not (skipped or scanned.unread)
    _print_summary(scanned, is_complete=is_complete)
    if scanned.found or not is_complete:
        raise click.exceptions.Exit(1)


def named(query: str, tool: str | None = None) -> ConversationRow:
    """Return the conversation that `query` names, or a deleted conversation from the trash.

    `tool` limits the search to sessions of this AI tool; the trash is then not searched. Raises
    SessionNotFoundError if nothing matches.
    """
    try:
        return capture_pending(choose(query, wanted=ListFilter(tool=tool)))
    except SessionNotFoundError:
        entry = None if tool else find_entry(query)
        if entry is None:
            raise
        click.echo("This conversation is in the trash.", err=True)
        return next(row for row in trash_rows() if row.key == entry.id)


def listed(everywhere: bool, tool: str | None) -> list[ConversationRow]:
    """Return the rows to scan: the conversations of this workspace, or all with `everywhere`.

    With `tool`, return only sessions of this AI tool. Without `tool`, `everywhere` also adds a row
    for each trash entry, a row for the archive, and a row for the data of programs.
    """
    conversations = ConversationList(paths.workspace_root(), everywhere=everywhere)
    list_filter = ListFilter(tool=tool)
    rows, missing = conversations.list(
        list_filter, capture=True, patience=None, copies=everywhere, empty=True
    )
    for root in missing:
        say_missing(root)
    _warn_unlisted(conversations.damaged)
    extra_rows = [*trash_rows(), archive_row(), state_row()] if everywhere and not tool else []
    return [*rows, *extra_rows]


def _warn_unlisted(notes: Sequence[str]) -> None:
    """Log a warning for each damaged session file, because such a file is not scanned.

    `notes` describe these files.
    """
    for note in notes:
        logging.getLogger("cortext.scan").warning("could not read %s", note)


def look(rows: Sequence[ConversationRow]) -> ScanResult:
    """Scan the conversations for secrets, with a progress bar, and return the result."""
    bar = ProgressBar("scanning conversations")
    try:
        return scan(rows, bar.progress)
    finally:
        bar.clear()


def ids_of(rows: Sequence[ConversationRow]) -> dict[tuple[str, str], str]:
    """Return a dict that maps `row.identity` of each conversation to an id that the user can type.

    Usually this is the id of the conversation. If several conversations have the same id, it is a
    longer form, such as `DATE/ID`.
    """
    times = Counter(row.key for row in rows)
    return {row.identity: row.key if times[row.key] == 1 else row.address for row in rows}


def place_of(one: Finding) -> str:
    """Return the place of a secret in its conversation, such as `user #7`.

    Here `user` is the role of the message, and 7 is the number of the message.
    """
    return f"{one.role} #{one.message}" if one.message else one.role


def told(text: str) -> str:
    """Return a text for display, on one line and with its secrets redacted.

    Use it for titles and file names, which can also contain a secret: some tools make the title
    from the first message.
    """
    return one_line(mask_text(text)[0])


def redact_path(path: str) -> str:
    """Return a path for JSON output, with secrets in the path itself redacted."""
    return mask_text(path)[0]


def print_findings(found: Sequence[Finding]) -> None:
    """Print one line for each found secret, with aligned columns."""
    lines = [
        (str(finding.number), finding.family, place_of(finding), finding.preview)
        for finding in found
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, *rest in lines:
        cells = [number.rjust(widths[0])]
        cells += [cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        click.echo(one_line("  " + "  ".join(cells).rstrip()))


def _print_groups(found: Sequence[Finding], names: dict[tuple[str, str], str]) -> None:
    for _, group in groupby(found, key=lambda finding: finding.row.identity):
        findings = list(group)
        row = findings[0].row
        click.echo(told(describe(row)))
        print_findings(findings)
        for path in sorted({finding.path for finding in findings if finding.ours}):
            click.echo(f"  in {told(path)}")
        for sentence in _advice(findings, names[row.identity]):
            click.echo(f"  {told(sentence)}")
        click.echo()


def _advice(found: Sequence[Finding], id: str) -> Iterator[str]:
    """Yield lines that tell the user how to remove the found secrets.

    `cortext redact` removes secrets from cortext's own files. The user must remove secrets from the
    AI tools' own files. The lines contain commands for the conversation `id`.
    """
    row, copies = found[0].row, [finding for finding in found if finding.is_copy]
    yield from lasting(found)
    if any(finding.ours and not finding.is_copy and not finding.stays for finding in found):
        of = "--all" if row.tool == "state" else id
        yield f"to redact: `cortext redact {of}`"
    if row.tool == "archive":
        yield "to redact the archive's copies: `cortext redact --all --archive`"
    elif copies:
        yield f"to redact the archive's copies too: `cortext redact {id} --archive`"
    yield from theirs(found, id)


def lasting(found: Sequence[Finding]) -> Iterator[str]:
    """Yield lines that tell the user how to remove the secrets that `redact` never removes.

    Such a secret is in the name of a file, or in a file that cortext must not change.
    """
    if any(finding.is_name for finding in found):
        yield EMPTY if found[0].row.tool == "trash" else RENAME
    for path in sorted(
        {finding.path for finding in found if finding.stays and not finding.is_name}
    ):
        yield f"{path}: {describe_removal(path)}"


def theirs(found: Sequence[Finding], id: str) -> Iterator[str]:
    """Yield lines that tell the user how to remove secrets from the AI tools' own files.

    The lines contain commands for the conversation `id`.
    """
    for path in sorted({finding.path for finding in found if not finding.ours}):
        yield f"in the tool's own file, which cortext never changes: {path}"
        yield f"  {describe_removal(path)}"
    tools = [finding for finding in found if not finding.ours]
    if not tools or any(finding.is_copy for finding in found):
        return

    if not is_archive_redacted(found[0].row, tools):
        yield f"  to keep the secret out of the archive: `cortext redact {id} --archive`"


def count_secrets(secrets: int, places: int, verb: str) -> str:
    """Return the number of secrets as text, such as `1 secret found in 2 places,`.

    `secrets` is the number of different secrets. The places are named only if they are more.
    """
    text = f"{counted(secrets, 'secret')} {verb}"
    return text if places == secrets else f"{text} in {counted(places, 'place')},"


def _as_dict(finding: Finding, names: dict[tuple[str, str], str]) -> dict[str, object]:
    return {
        "id": names[finding.row.identity],
        "finding": finding.number,
        "family": finding.family,
        "message": finding.message or None,
        "role": finding.role,
        "preview": finding.preview,
        "path": redact_path(finding.path),
        "ours": finding.ours,
        "tool": finding.row.tool_name or None,
        "title": told(finding.row.title),
    }


def _print_summary(scanned: ScanResult, *, is_complete: bool) -> None:
    for sentence in scanned.unread:
        click.echo(f"warning: not scanned: {told(sentence)}", err=True)
    count = len({finding.secret for finding in scanned.found})
    rows = len({finding.row.identity for finding in scanned.found})
    scope = counted(scanned.looked, "conversation")
    what = count_secrets(count, len(scanned.found), "found")
    result = f"{what} in {rows} of" if count else "No secrets found in"
    rest = "" if is_complete else " Not everything could be scanned."
    click.echo(f"{result} {scope}.{rest}", err=True)
