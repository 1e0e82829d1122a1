"""`cortext scan`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from cortext.cli.lists import SOURCES
from cortext.cli.options import all_option, complete_id, json_option, print_json

if TYPE_CHECKING:
    from cortext.app.scanning import Finding, Scanned
    from cortext.index.listed import Listed


@click.command("scan")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option("--tool", type=click.Choice(SOURCES), help="Only what was had in this tool.")
@json_option
def command(query: tuple[str, ...], everywhere: bool, tool: str | None, as_json: bool) -> None:
    """Look for keys and passwords in conversations; nothing is changed.

    QUERY is an id, the beginning of one, or words of the title. Without it, all that are listed
    here; with --all, everything: workspaces, sessions of `spawn`, documents, and what the AI tools
    and our archive keep. A secret is never printed. Exit code 1: something was found; 0: nothing.
    """
    from cortext.app.conversations import Wanted
    from cortext.cli.choose import choose

    wanted = Wanted(tool=tool)
    rows = [choose(" ".join(query), wanted=wanted)] if query else listed(everywhere, tool)
    scanned = look(rows)
    names = ids_of(rows)
    if as_json:
        print_json([_as_dict(one, names) for one in scanned.found])
    else:
        _print(scanned.found, names)
    _say_end(scanned)
    if scanned.found:
        raise click.exceptions.Exit(1)


def listed(everywhere: bool, tool: str | None) -> list[Listed]:
    """The conversations here, or all."""
    from cortext import paths
    from cortext.app.conversations import Conversations, Wanted

    conversations = Conversations(paths.workspace_root(), everywhere=everywhere)
    return conversations.list(Wanted(tool=tool), patience=None).rows


def look(rows: Sequence[Listed]) -> Scanned:
    """What is in them; a person who waits sees how far it is."""
    from cortext.app.scanning import scan
    from cortext.cli.waiting import Bar

    bar = Bar("looking through conversations")
    try:
        return scan(rows, bar.progress)
    finally:
        bar.clear()


def ids_of(rows: Sequence[Listed]) -> dict[tuple[str, str], str]:
    """What names each for every command: its id, with its day where several have that."""
    counted = Counter(row.key for row in rows)
    return {row.identity: row.key if counted[row.key] == 1 else row.address for row in rows}


def place_of(one: Finding) -> str:
    """Where a secret stands, for people."""
    return f"{one.role} #{one.message}" if one.message else one.role


def told(text: str) -> str:
    """As it may be shown to anybody: a tool's title is the first request, secrets included."""
    from cortext.model.secrets import mask_text

    return mask_text(text)[0]


def print_findings(found: Sequence[Finding]) -> None:
    """One line each, in columns."""
    from cortext.cli.text import clean

    lines = [(str(one.number), one.family, place_of(one), one.preview) for one in found]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, *rest in lines:
        cells = [number.rjust(widths[0])]
        cells += [cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        click.echo(clean("  " + "  ".join(cells).rstrip(), lines=False))


def _print(found: Sequence[Finding], names: dict[tuple[str, str], str]) -> None:
    from cortext.cli.choose import describe
    from cortext.cli.text import clean

    for _, group in groupby(found, key=lambda one: one.row.identity):
        each = list(group)
        row = each[0].row
        click.echo(told(describe(row)))
        print_findings(each)
        for path in sorted({one.path for one in each}):
            click.echo(f"  in {clean(path, lines=False)}")
        click.echo(f"  {clean(_advice(row, names[row.identity]), lines=False)}\n")


def _advice(row: Listed, id: str) -> str:
    if row.tool and not row.is_apart:
        return f"`cortext redact {id} --archive` masks our copy; the tool's own file is not touched"
    return f"`cortext redact {id}` masks it"


def _as_dict(one: Finding, names: dict[tuple[str, str], str]) -> dict[str, object]:
    return {
        "id": names[one.row.identity],
        "finding": one.number,
        "family": one.family,
        "message": one.message or None,
        "role": one.role,
        "preview": one.preview,
        "path": one.path,
        "tool": one.row.tool or None,
        "title": told(one.row.title),
    }


def _say_end(scanned: Scanned) -> None:
    from cortext.cli.text import clean

    for sentence in scanned.unread:
        click.echo(f"not looked at: {clean(sentence, lines=False)}", err=True)
    count, rows = len(scanned.found), len({one.row.identity for one in scanned.found})
    what = f"{count} secrets in {rows}" if count != 1 else f"1 secret in {rows}"
    said = what if count else "no secrets in"
    of = f" of {scanned.looked:,}" if count else f" {scanned.looked:,}"
    plural = "" if scanned.looked == 1 else "s"
    click.echo(f"{said}{of} conversation{plural}", err=True)
