"""`cortext redact`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from cortext.cli.commands.scan import listed, look, print_findings, told
from cortext.cli.confirm import agree, yes_option
from cortext.cli.options import all_option, complete_id

if TYPE_CHECKING:
    from cortext.app.scanning import Finding
    from cortext.index.listed import Listed


class _Plan(NamedTuple):
    row: Listed
    found: list[Finding]
    is_ours: bool


@click.command("redact")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option("--finding", "number", type=click.IntRange(min=1), help="Only this one of `scan`.")
@click.option("--archive", is_flag=True, help="Also in our copies of the tools' transcripts.")
@click.option("--dry-run", is_flag=True, help="Show what would be masked, and change nothing.")
@yes_option
def command(
    query: tuple[str, ...],
    everywhere: bool,
    number: int | None,
    archive: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Mask the keys and passwords that `scan` finds: `[redacted FAMILY FINGERPRINT]`.

    QUERY is an id, the beginning of one, or words of the title; with --all, everything. Files of
    workspaces, sessions of `spawn` and documents are changed; what an AI tool keeps is not. There
    is no way back: a masked secret is gone from the file.
    """
    rows = _rows(query, everywhere, number)
    scanned = look(rows)
    for sentence in scanned.unread:
        click.echo(f"not looked at: {sentence}", err=True)
    plans = [plan for row in rows if (plan := _plan(row, scanned.found, number, archive)).found]
    if not plans:
        click.echo("no secrets were found; nothing was done", err=True)
        return
    _show(plans, archive)
    work = [plan for plan in plans if plan.is_ours or archive]
    if dry_run or not work:
        raise click.exceptions.Exit(0 if dry_run else 1)
    agree("mask them? There is no way back.", yes)
    raise click.exceptions.Exit(_do(work, number is not None, archive))


def _rows(query: tuple[str, ...], everywhere: bool, number: int | None) -> list[Listed]:
    from cortext.cli.choose import choose

    if query and everywhere:
        raise click.UsageError("either a conversation or --all")
    if number is not None and not query:
        raise click.UsageError("--finding is one of a conversation: say which")
    if query:
        return [choose(" ".join(query))]
    if not everywhere:
        raise click.UsageError("say which conversation, or --all")
    return listed(True, None)


def _plan(row: Listed, found: Sequence[Finding], number: int | None, archive: bool) -> _Plan:
    from cortext.errors import SessionNotFoundError

    own = [one for one in found if one.row.identity == row.identity]
    if number is not None:
        own = [one for one in own if one.number == number]
        if not own:
            missing = SessionNotFoundError(f"finding {number} of {row.key}")
            missing.hint = f"`cortext scan {row.key}` numbers them"
            raise missing
    return _Plan(row, own, not row.tool or row.is_apart)


def _show(plans: Sequence[_Plan], archive: bool) -> None:
    from cortext.cli.choose import describe
    from cortext.cli.text import clean
    from cortext.paths import archive as archive_folder

    for plan in plans:
        click.echo(told(describe(plan.row)))
        print_findings(plan.found)
        paths = sorted({one.path for one in plan.found})
        for path in paths:
            ours = plan.is_ours or path.startswith(f"{archive_folder()}/")
            said = "to be masked in" if ours else "not touched, it is the tool's own:"
            click.echo(f"  {said} {clean(path, lines=False)}")
        if archive:
            click.echo("  to be masked in our copies in the archive")
        elif not plan.is_ours:
            click.echo("  --archive masks our copy of it")


def _do(plans: Sequence[_Plan], only: bool, archive: bool) -> int:
    """One after the other; the exit code."""
    from cortext.app.redacting import forget_words, redact
    from cortext.app.redacting_copies import redact_copies
    from cortext.cli.text import clean
    from cortext.errors import CortextError

    pieces, failed, done = 0, 0, list[_Plan]()
    for row, found, is_ours in plans:
        try:
            results = [redact(row, found if only else None)] if is_ours else []
            results += [redact_copies(row, found if only else None)] if archive else []
        except (CortextError, OSError) as error:
            failed += 1
            click.echo(f"not redacted: {clean(str(error), lines=False)}", err=True)
            continue
        done.append(_Plan(row, found, is_ours))
        pieces += sum(result.pieces for result in results)
        for note in dict.fromkeys(note for result in results for note in result.notes):
            click.echo(clean(note, lines=False), err=True)
    if done:
        forget_words([plan.row for plan in done])
    click.echo(f"{pieces} masked in {len(done)} conversation{'' if len(done) == 1 else 's'}")
    return 1 if failed else 0
