"""The command `cortext redact`: redact keys and passwords in conversations."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from cortext.catalog.row import ConversationRow
from cortext.cli.commands.scan import (
    count_secrets,
    lasting,
    listed,
    look,
    named,
    print_findings,
    theirs,
    told,
)
from cortext.cli.common_options import Number, all_option
from cortext.cli.confirmation import agree, yes_option
from cortext.cli.conversation_choice import describe
from cortext.cli.conversation_completion import complete_id
from cortext.cli.log_warnings import missed
from cortext.cli.views.bar_chart import counted
from cortext.durability.durable_files import collect_errors
from cortext.errors import CortextError
from cortext.features.secrets.archive_redaction import redact_copies
from cortext.features.secrets.conversation_redaction import (
    RedactResult,
    path_of,
    redact,
    report_missing_files,
)
from cortext.features.secrets.redacted_text_purge import is_unfinished, purge_after, purge_words
from cortext.features.secrets.secret_scan import Finding

_RETRY_HINT = "fix the problem, then run the same command again to redact the rest"


class _Plan(msgspec.Struct, frozen=True):
    """The secrets that were found in one conversation: in its files and in its archive copies."""

    row: ConversationRow
    found: list[Finding]

    @property
    def touches_own_files(self) -> bool:
        """True if cortext can redact a secret in one of its own files outside the archive."""
        return any(
            finding.ours and not finding.is_copy and not finding.stays for finding in self.found
        )

    @property
    def touches_archive(self) -> bool:
        """True if a secret is in the archive, or if the next sync would copy it to the archive."""
        return any(finding.is_copy or not finding.ours for finding in self.found)


@click.command("redact")
@click.argument("query", nargs=-1, shell_complete=complete_id)
@all_option
@click.option(
    "--finding", "number", type=Number(min=1), help="Redact only the finding with this number."
)
@click.option("--archive", is_flag=True, help="Also redact the transcripts in the archive.")
@click.option("--dry-run", is_flag=True, help="Show what would be redacted, but change nothing.")
@yes_option
def command(
    query: tuple[str, ...],
    everywhere: bool,
    number: int | None,
    archive: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Redact the keys and passwords that `cortext scan` finds.

    Each secret is replaced by `[redacted FAMILY FINGERPRINT]`. This cannot be undone.

    QUERY is an id, the beginning of an id, or words of the title. --all redacts everything. The
    command changes files of workspaces, sessions of `spawn`, sessions of programs, and the trash.
    With --archive, it also changes the archive's copies of transcripts. It never changes the AI
    tools' own files, but lists those that contain a secret.
    """
    _finish_earlier_redact()
    with missed() as skipped:
        rows = _find_rows(query, everywhere, number)
        scanned = look(rows)
    for sentence in scanned.unread:
        click.echo(f"warning: not scanned: {told(sentence)}", err=True)
    is_complete = not (skipped or scanned.unread)
    plans = [plan for row in rows if (plan := _make_plan(row, scanned.found, number)).found]
    if not plans:
        if not is_complete:
            raise CortextError(
                "no secrets found in the files that could be read; nothing was changed"
            )
        click.echo("No secrets found. Nothing was changed.", err=True)
        return
    _print_plans(plans, archive)
    changes = [
        plan for plan in plans if plan.touches_own_files or (archive and plan.touches_archive)
    ]
    if dry_run or not changes:
        raise click.exceptions.Exit(0 if dry_run else 1)
    agree("Redact these secrets? This cannot be undone.", yes)
    code = _redact_all(changes, number is not None, archive, scanned.unread)
    raise click.exceptions.Exit(code or (0 if is_complete else 1))


def _finish_earlier_redact() -> None:
    """Complete an earlier `redact` that was killed before it had cleaned the search index.

    Remove the redacted secrets from the search index.
    """
    if is_unfinished():
        click.echo("Removing the secrets of an interrupted redact from the search index.", err=True)
        purge_words()


def _find_rows(
    query: tuple[str, ...], everywhere: bool, number: int | None
) -> list[ConversationRow]:
    if query and everywhere:
        raise click.UsageError("give a conversation or --all, not both")
    if number is not None and not query:
        raise click.UsageError("--finding needs a conversation: `cortext redact ID --finding N`")
    if query:
        return [named(" ".join(query))]
    if not everywhere:
        raise click.UsageError("name a conversation, or use --all")
    return listed(True, None)


def _make_plan(row: ConversationRow, found: Sequence[Finding], number: int | None) -> _Plan:
    own = [finding for finding in found if finding.row.identity == row.identity]
    if number is not None:
        own = [finding for finding in own if finding.number == number]
        if not own:
            hint = f"`cortext scan {row.key}` lists the findings with their numbers"
            raise CortextError(f"{row.key} has no finding {number}", hint=hint)
    return _Plan(row, own)


def _print_plans(plans: Sequence[_Plan], archive: bool) -> None:
    for plan in plans:
        click.echo(told(describe(plan.row)))
        print_findings(plan.found)
        for path in sorted({finding.path for finding in plan.found if finding.ours}):
            in_file = [finding for finding in plan.found if finding.path == path]
            click.echo(f"  {_file_label(in_file, archive)}: {told(path)}")
        for sentence in theirs(plan.found, plan.row.key):
            click.echo(f"  {told(sentence)}")
        for sentence in lasting(plan.found):
            click.echo(f"  {told(sentence)}")
        if archive and plan.touches_archive:
            click.echo("  later copies in the archive will be redacted too")
        elif any(finding.is_copy for finding in plan.found):
            click.echo("  to redact the archive's copy too, add --archive")


def _file_label(found: Sequence[Finding], archive: bool) -> str:
    """Return the label that is printed before the path of a file, such as `will be redacted`.

    `found` are the secrets in the file. If `archive` is True, copies in the archive are redacted
    too.
    """
    if all(finding.is_name for finding in found):
        return "name will not be changed"
    if all(finding.stays for finding in found):
        return "will not be changed"
    if archive or not found[0].is_copy:
        return "will be redacted"
    return "archive copy will not be redacted"


def _redact_all(
    plans: Sequence[_Plan], listed_only: bool, archive: bool, unread: Sequence[str]
) -> int:
    """Redact the conversations of all plans, and return the exit code.

    A plan has the secrets that were found in one conversation. If a conversation cannot be
    redacted, continue with the next. With `listed_only`, redact only the secrets in the plans.
    Otherwise redact every secret in the conversations. With `archive`, also redact copies in the
    archive. `unread` has the warnings about unscanned files that were already printed.
    """
    changed, done, every = 0, list[_Plan](), list[RedactResult]()
    with purge_after([plan.row for plan in plans]) as failures:
        for plan in plans:
            results = _redact(plan, listed_only, archive, failures)
            done += [plan] if results else []
            changed += any(result.pieces for result in results)
            every += results
            for note in dict.fromkeys(note for result in results for note in result.notes):
                click.echo(told(note), err=True)
    _print_failures(failures)
    remaining = _print_remaining(done, listed_only, archive, unread) if done else 0
    secrets = len(frozenset[str]().union(*(result.fingerprints for result in every)))
    what = count_secrets(secrets, sum(result.pieces for result in every), "redacted")
    click.echo(f"{what} in {counted(changed, 'conversation')}.")
    return 1 if failures or remaining else 0


def _redact(
    plan: _Plan, listed_only: bool, archive: bool, failures: list[CortextError]
) -> list[RedactResult]:
    """Redact the conversation of one plan, and return the results. Add errors to `failures`.

    With `listed_only`, redact only the secrets in the plan. Otherwise redact every secret in the
    conversation. With `archive`, also redact the conversation's copies in the archive.
    """
    results: list[RedactResult] = []
    if plan.touches_own_files:
        with collect_errors(failures, "redact", path_of(plan.row)):
            results.append(redact(plan.row, plan.found if listed_only else None))
    if archive and plan.touches_archive:
        paths = [finding.path for finding in plan.found if finding.is_copy]
        with collect_errors(failures, "redact the archived copies of", path_of(plan.row)):
            results.append(redact_copies(plan.row, plan.found, paths))
    for result in results:
        failures += result.failures
    redactable = [finding for finding in plan.found if finding.ours and not finding.stays]
    report_missing_files(
        [finding for finding in redactable if archive or not finding.is_copy], failures
    )
    return results


def _print_failures(failures: Sequence[CortextError]) -> None:
    """Print each failure with its hint. Print equal failures only once."""
    for sentence, hint in dict.fromkeys((str(error), error.hint) for error in failures):
        click.echo(f"problem: {told(sentence)}", err=True)
        click.echo(f"  hint: {told(hint or _RETRY_HINT)}", err=True)


def _print_remaining(
    done: Sequence[_Plan], listed_only: bool, archive: bool, unread: Sequence[str]
) -> int:
    """Scan the redacted conversations again, and print the files that still contain a secret.

    Also print a warning for each file that could not be scanned. Warnings in `unread` are not
    printed again. Return how many problems remain: the number of printed warnings plus the number
    of printed files. The AI tools' own files do not count. Without `archive`, copies in the archive
    do not count either.

    `done` are the plans that were redacted. With `listed_only`, ignore a secret in cortext's files
    unless one of these plans contains the secret.
    """
    redacted = {finding.secret for plan in done for finding in plan.found}
    rescanned = look([plan.row for plan in done])
    remaining = [
        finding
        for finding in rescanned.found
        if finding.ours and (not listed_only or finding.secret in redacted)
    ]
    paths = sorted({finding.path for finding in remaining if archive or not finding.is_copy})
    for path in paths:
        click.echo(f"A secret is still in {told(path)}", err=True)
    for path in sorted({finding.path for finding in remaining if not archive and finding.is_copy}):
        click.echo(f"A secret is still in the archive (add --archive): {told(path)}", err=True)
    for path in sorted({finding.path for finding in rescanned.found if not finding.ours}):
        click.echo(f"A secret is still in the tool's own file: {told(path)}", err=True)
    new = [sentence for sentence in rescanned.unread if sentence not in unread]
    for sentence in new:
        click.echo(f"warning: not scanned: {told(sentence)}", err=True)
    return len(paths) + len(new)
