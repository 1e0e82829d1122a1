"""`cortext redact`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from cortext.catalog.row import ConversationRow
from cortext.cli.commands.scan import lasting, listed, look, named, print_findings, theirs, told
from cortext.cli.common_options import Number, all_option, complete_id
from cortext.cli.confirm import agree, yes_option
from cortext.cli.select_conversation import describe
from cortext.cli.warnings import missed
from cortext.durability.replace_file import collect_errors
from cortext.errors import CortextError
from cortext.features.secrets.purge_index import is_unfinished, purge_after, purge_words
from cortext.features.secrets.redact import RedactResult, note_vanished, path_of, redact
from cortext.features.secrets.redact_archive import redact_copies
from cortext.features.secrets.scan import Finding

_AGAIN = "resolve that, then run the same command again: it masks what is left"


class _Plan(NamedTuple):
    """What was found in one conversation: to be masked in its own files, and in our copies."""

    row: ConversationRow
    found: list[Finding]

    @property
    def is_own(self) -> bool:
        return any(one.ours and not one.is_copy and not one.stays for one in self.found)

    @property
    def is_beyond(self) -> bool:
        """Whether a secret is in the archive, or will be copied to it by the next sync."""
        return any(one.is_copy or not one.ours for one in self.found)


@click.command("redact")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option("--finding", "number", type=Number(min=1), help="Only this one of `scan`.")
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
    workspaces, sessions of `spawn`, documents and the trash are changed, with --archive also our
    copies of the tools' transcripts; what an AI tool keeps is not, and is named. There is no way
    back: a masked secret is gone from the file.
    """
    _end_what_was_begun()
    with missed() as passed_over:
        rows = _rows(query, everywhere, number)
        scanned = look(rows)
    for sentence in scanned.unread:
        click.echo(f"not looked at: {told(sentence)}", err=True)
    whole = not (passed_over or scanned.unread)
    plans = [plan for row in rows if (plan := _plan(row, scanned.found, number)).found]
    if not plans:
        if not whole:
            raise CortextError("no secrets were found in what could be read; nothing was done")
        click.echo("no secrets were found; nothing was done", err=True)
        return
    _show(plans, archive)
    work = [plan for plan in plans if plan.is_own or (archive and plan.is_beyond)]
    if dry_run or not work:
        raise click.exceptions.Exit(0 if dry_run else 1)
    agree("mask them? There is no way back.", yes)
    code = _do(work, number is not None, archive, scanned.unread)
    raise click.exceptions.Exit(code or (0 if whole else 1))


def _end_what_was_begun() -> None:
    """Complete an earlier `redact` that was killed before it updated the search index.

    The redacted words are removed from the index.
    """
    if is_unfinished():
        click.echo("forgetting the words of a redact that did not end", err=True)
        purge_words()


def _rows(query: tuple[str, ...], everywhere: bool, number: int | None) -> list[ConversationRow]:
    if query and everywhere:
        raise click.UsageError("either a conversation or --all")
    if number is not None and not query:
        raise click.UsageError("--finding is one of a conversation: say which")
    if query:
        return [named(" ".join(query))]
    if not everywhere:
        raise click.UsageError("say which conversation, or --all")
    return listed(True, None)


def _plan(row: ConversationRow, found: Sequence[Finding], number: int | None) -> _Plan:
    own = [one for one in found if one.row.identity == row.identity]
    if number is not None:
        own = [one for one in own if one.number == number]
        if not own:
            hint = f"`cortext scan {row.key}` numbers them"
            raise CortextError(f"{row.key} has no finding {number}", hint=hint)
    return _Plan(row, own)


def _show(plans: Sequence[_Plan], archive: bool) -> None:
    for plan in plans:
        click.echo(told(describe(plan.row)))
        print_findings(plan.found)
        for path in sorted({one.path for one in plan.found if one.ours}):
            here = [one for one in plan.found if one.path == path]
            click.echo(f"  {_said_of(here, archive)} {told(path)}")
        for sentence in theirs(plan.found, plan.row.key):
            click.echo(f"  {told(sentence)}")
        for sentence in lasting(plan.found):
            click.echo(f"  {told(sentence)}")
        if archive and plan.is_beyond:
            click.echo("  to be masked in what is copied of it later")
        elif any(one.is_copy for one in plan.found):
            click.echo("  --archive masks our copy of it")


def _said_of(found: Sequence[Finding], archive: bool) -> str:
    """Return whether the secrets of a file will be redacted, as the words before its path."""
    if all(one.is_name for one in found):
        return "left as it is called:"
    if all(one.stays for one in found):
        return "left as it is:"
    return "to be masked in" if archive or not found[0].is_copy else "left in our copy:"


def _do(plans: Sequence[_Plan], only: bool, archive: bool, unread: Sequence[str]) -> int:
    """Redact one conversation after the other, also after a failure, and return the exit code.

    With `only`, redact just the listed findings. With `archive`, redact our copies as well.
    `unread` names the files that could not be scanned before.
    """
    masked, done = list[int](), list[_Plan]()
    with purge_after([plan.row for plan in plans]) as failures:
        for plan in plans:
            results = _redact(plan, only, archive, failures)
            done += [plan] if results else []
            masked.append(sum(result.pieces for result in results))
            for note in dict.fromkeys(note for result in results for note in result.notes):
                click.echo(told(note), err=True)
    _say_failures(failures)
    left = _say_what_is_left(done, only, archive, unread) if done else 0
    count = sum(map(bool, masked))
    click.echo(f"{sum(masked)} masked in {count} conversation{'' if count == 1 else 's'}")
    return 1 if failures or left else 0


def _redact(
    plan: _Plan, only: bool, archive: bool, failures: list[CortextError]
) -> list[RedactResult]:
    """Redact the findings of one plan, and return the results.

    Add errors to `failures` and continue.
    """
    results: list[RedactResult] = []
    if plan.is_own:
        with collect_errors(failures, "mask", path_of(plan.row)):
            results.append(redact(plan.row, plan.found if only else None))
    if archive and plan.is_beyond:
        paths = [one.path for one in plan.found if one.is_copy]
        with collect_errors(failures, "mask the copies of", path_of(plan.row)):
            results.append(redact_copies(plan.row, plan.found, paths))
    for result in results:
        failures += result.failures
    wanted = [one for one in plan.found if one.ours and not one.stays]
    note_vanished([one for one in wanted if archive or not one.is_copy], failures)
    return results


def _say_failures(failures: Sequence[CortextError]) -> None:
    """Print each different failure with its hint."""
    for sentence, hint in dict.fromkeys((str(error), error.hint) for error in failures):
        click.echo(f"problem: {told(sentence)}", err=True)
        click.echo(f"  hint: {told(hint or _AGAIN)}", err=True)


def _say_what_is_left(
    done: Sequence[_Plan], only: bool, archive: bool, unread: Sequence[str]
) -> int:
    """Scan the redacted conversations again, and print which files still contain a secret.

    Also print files that could be read before but not now. Return the number of both.
    """
    masked = {one.secret for plan in done for one in plan.found}
    again = look([plan.row for plan in done])
    still = [one for one in again.found if one.ours and (not only or one.secret in masked)]
    left = sorted({one.path for one in still if archive or not one.is_copy})
    for path in left:
        click.echo(f"it is still in {told(path)}", err=True)
    for path in sorted({one.path for one in still if not archive and one.is_copy}):
        click.echo(f"our copy still has it: {told(path)} (--archive)", err=True)
    for path in sorted({one.path for one in again.found if not one.ours}):
        click.echo(f"the tool still has it: {told(path)}", err=True)
    new = [sentence for sentence in again.unread if sentence not in unread]
    for sentence in new:
        click.echo(f"not looked at: {told(sentence)}", err=True)
    return len(left) + len(new)
