"""The command `cortext doctor`: check cortext, your AI tools and your saved conversations."""

from __future__ import annotations

from collections import Counter

import click

from cortext.cli.common_options import json_option, print_json
from cortext.cli.confirmation import NOBODY_TO_ASK, yes_option
from cortext.cli.conversation_choice import can_ask
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted, size
from cortext.cli.views.list_view import short
from cortext.clock import ago
from cortext.features.doctor.check_results import describe_kept
from cortext.features.doctor.doctor_report import (
    ArchiveHealth,
    Diagnosis,
    Health,
    ToolHealth,
    diagnose,
    recheck,
)
from cortext.features.doctor.repair import (
    RepairOutcome,
    count_repeated_kinds,
    problem_kind,
    run_repairs,
)
from cortext.features.doctor.transcript_locations import history_locations

_MAX_PER_FILE = 3
"""The maximum number of problems in one file that are shown without `--verbose`."""
_MAX_ROUNDS = 3


@click.command("doctor")
@click.option(
    "--fix", is_flag=True, help="Repair everything that can be repaired without data loss."
)
@click.option(
    "--deep",
    is_flag=True,
    help="Check every file, also files unchanged since the last successful check.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show all problems of each file.")
@yes_option
@json_option
def command(fix: bool, deep: bool, verbose: bool, yes: bool, as_json: bool) -> None:
    """Check cortext, your AI tools and your saved conversations.

    The command checks whether cortext and your AI tools work together and whether all saved files
    can be read. It also shows recent errors of hooks and background processes.

    Without --fix, nothing is changed. With --fix, the command shows a repair plan and asks first.
    It keeps the original of everything that it changes. The exit code is 1 if there is a problem.
    """
    if yes and not fix:
        raise click.UsageError("--yes works only together with --fix")
    diagnosis = _diagnose(deep)
    if fix:
        _fix(diagnosis, yes=yes, verbose=verbose, as_json=as_json)
        return
    if as_json:
        print_json(diagnosis.health)
    else:
        _print_lines(_report_lines(diagnosis.health, verbose))
    if not diagnosis.health.is_well:
        raise click.exceptions.Exit(1)


def _diagnose(deep: bool) -> Diagnosis:
    bar = ProgressBar("bytes checked")
    try:
        # As a test, the diagnosis starts the MCP server of cortext, which takes a second or more.
        bar.begin("checking your tools and conversations")
        return diagnose(deep=deep, progress=bar.progress)
    finally:
        bar.clear()


def _print_lines(lines: list[str], *, err: bool = False) -> None:
    for line in lines:
        click.echo(clean(line, lines=False), err=err)


def _fix(diagnosis: Diagnosis, *, yes: bool, verbose: bool, as_json: bool) -> None:
    """Show the repair plan, ask the user, run the repairs, and report the problems that remain.

    A repair can reveal further problems. In that case, repeat these steps with a new plan, at most
    `_MAX_ROUNDS` times. Exit with code 1 if a problem remains.
    """
    outcome, steps = RepairOutcome([], []), list[str]()
    for _ in range(_MAX_ROUNDS):
        new = [repair for repair in diagnosis.mends if repair.sentence not in steps]
        if not new:
            break
        sentences = [repair.sentence for repair in new]
        _print_lines(_plan_lines(sentences), err=True)
        if not _confirm_repairs(len(new), yes):
            _exit_unrepaired(diagnosis, steps + sentences, outcome, as_json)
        steps += sentences
        results = run_repairs(new)
        outcome = RepairOutcome(outcome.mended + results.mended, outcome.failed + results.failed)
        recheck(diagnosis)
    if as_json:
        _print_outcome(diagnosis, steps, outcome)
    else:
        _print_lines([*_outcome_lines(outcome), *_problem_lines(diagnosis.health, verbose)])
    if outcome.failed or not diagnosis.health.is_well:
        raise click.exceptions.Exit(1)


def _print_outcome(diagnosis: Diagnosis, plan: list[str], outcome: RepairOutcome) -> None:
    done = {"plan": plan, "mended": outcome.mended, "failed": outcome.failed}
    print_json({**done, "health": diagnosis.health})


def _plan_lines(sentences: list[str]) -> list[str]:
    steps = [f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1)]
    return ["Planned repairs (the original of every conversation is kept):", *steps]


def _confirm_repairs(count: int, yes: bool) -> bool:
    what = "this repair" if count == 1 else f"these {count} repairs"
    return yes or (can_ask() and click.confirm(f"Make {what}?", err=True))


def _exit_unrepaired(
    diagnosis: Diagnosis, plan: list[str], outcome: RepairOutcome, as_json: bool
) -> None:
    """Print the repairs that were already made, and exit without making the planned repairs.

    `plan` has a sentence for every planned repair. `outcome` has the repairs that were already
    made. The exit code is 1 if the user declined, and 2 if there is no terminal to ask on.
    """
    if as_json:
        _print_outcome(diagnosis, plan, outcome)
    else:
        _print_lines(_outcome_lines(outcome))
    if can_ask():
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)
    click.echo(f"error: {NOBODY_TO_ASK}", err=True)
    click.echo("hint: `cortext doctor --fix --yes` repairs without asking", err=True)
    raise click.exceptions.Exit(2)


def _outcome_lines(outcome: RepairOutcome) -> list[str]:
    lines = [f"repaired: {each.did}{describe_kept(each.kept)}" for each in outcome.mended]
    for failed in outcome.failed:
        lines.append(f"not done: {failed.step}: {failed.why}")
        lines += [f"hint: {failed.hint}"] if failed.hint else []
    return lines


def _report_lines(health: Health, verbose: bool) -> list[str]:
    where = f"at {short(health.program)}" if health.program else "not on the PATH"
    lines = [f"cortext {health.version}, {where}"]
    lines += [_tool_line(tool) for tool in health.tools] or ["no AI tool was found"]
    lines.append(_folders_line())
    lines += _server_lines(health)
    lines.append(_archive_line(health.archive))
    lines += _conversation_lines(health)
    if health.errors:
        lines += ["recent errors in hooks and background processes:"]
        lines += [f"- {line}" for line in health.errors]
    return [*lines, *_problem_lines(health, verbose)]


def _problem_lines(health: Health, verbose: bool) -> list[str]:
    lines: list[str] = []
    of_file: dict[str, int] = {}
    total = Counter(problem.path for problem in health.problems if problem.path)
    repeated = {} if verbose else count_repeated_kinds(health.problems)
    reported: set[str] = set()
    for problem in health.problems:
        kind = problem_kind(problem)
        if kind in reported:
            continue
        number = of_file[problem.path] = of_file.get(problem.path, 0) + 1
        if problem.path and number > _MAX_PER_FILE and not verbose:
            if number == _MAX_PER_FILE + 1:
                more = total[problem.path] - _MAX_PER_FILE
                lines.append(
                    f"- {problem.path}: {counted(more, 'more problem')} (`--verbose` shows all)"
                )
            continue
        lines.append(f"{problem.severity}: {problem.text}")
        # Problems that `--fix` repairs share one hint at the end.
        lines += [] if problem.mend else [f"hint: {problem.hint}"]
        if kind in repeated:
            reported.add(kind)
            lines.append(
                f"- {repeated[kind] - 1:,} more files have the same problem (`--verbose` shows all)"
            )
    if repairable := sum(bool(problem.mend) for problem in health.problems):
        what = counted(repairable, "problem")
        lines.append(f"hint: `cortext doctor --fix` can repair {what}; it shows a plan and asks")
    return [*lines, "no problems found"] if health.is_well else lines


def _conversation_lines(health: Health) -> list[str]:
    """Return a list with one line that counts the checked conversations.

    The list is empty if no conversation was checked.
    """
    if not health.conversations:
        return []

    checked = counted(health.conversations, "conversation")
    rest = health.conversations - health.read
    unchanged = f"; {rest:,} not read, because unchanged since the last check (`--deep` reads all)"
    return [f"checked {checked}: {health.read:,} read{unchanged if rest else ''}"]


def _folders_line() -> str:
    places = [
        f"{short(place.folder)} ({place.variable} is {'' if place.is_set else 'not '}set)"
        for place in history_locations()
    ]
    return f"history folders: {', '.join(places)}"


def _tool_line(tool: ToolHealth) -> str:
    program = short(tool.program) if tool.program else "its program is not on the PATH"
    program += f" {tool.version}" if tool.version else ""
    program += "" if tool.tested else " (newer than the tested versions)"
    parts = [
        f"{what}: {state} installed"
        for what, state in (("hooks", tool.hooks), ("commands", tool.commands))
        if state != "not used"
    ]
    parts += ["recall: on"] if tool.recall else []
    parts += ["status line: on"] if tool.status_line else []
    if not tool.connected:
        parts = [f"not connected (`cortext setup --tools {tool.tool}`)"]
    return f"{tool.tool}: {program}; {', '.join(parts)}"


def _server_lines(health: Health) -> list[str]:
    """Return a list with one line about the MCP server of cortext.

    Return an empty list if no tool was connected by `cortext setup` and no tool has this server in
    its settings.
    """
    configured = [tool.tool for tool in health.tools if tool.server == "present"]
    others = [tool for tool in health.tools if tool.server != "present"]
    if not configured and not any(tool.connected or tool.server != "missing" for tool in others):
        return []
    parts = [f"configured in {', '.join(configured)}"] if configured else []
    for tool in others:
        more = f" (`cortext setup --tools {tool.tool}`)" if tool.server == "missing" else ""
        parts.append(f"{tool.tool}: {tool.server}{more}")
    server = health.server
    if server.starts:
        parts.append(f"it starts and has {server.tools} tools")
    elif server.starts is False:
        parts.append("it does not start")
    if not server.package:
        parts.append("the package `mcp` is not installed")
    return [f"MCP server: {'; '.join(parts)}"]


def _archive_line(archive: ArchiveHealth) -> str:
    if archive.enabled is None:
        return "archive: the setting archive.enabled cannot be read"
    if not archive.enabled:
        return "archive: turned off (`cortext config archive.enabled on` turns it on)"
    if archive.last_sync is None:
        return "archive: nothing was copied yet (run `cortext sync`)"
    last = ago(int(archive.last_sync.timestamp() * 1_000_000))
    sizes = f"{size(archive.sources)} compressed to {size(archive.packed)}"
    transcripts = counted(archive.copies, "transcript")
    return f"archive: {transcripts}, {sizes}, in {short(archive.folder)}; last sync {last}"
