"""`cortext doctor`."""

from __future__ import annotations

from collections import Counter

import click

from cortext.cli.common_options import json_option, print_json
from cortext.cli.confirm import NOBODY_TO_ASK, yes_option
from cortext.cli.progress import ProgressBar
from cortext.cli.select_conversation import can_ask
from cortext.cli.terminal_text import clean
from cortext.cli.views.bar_chart import counted, size
from cortext.cli.views.list_view import short
from cortext.clock import ago
from cortext.features.doctor.history_locations import history_locations
from cortext.features.doctor.repair import (
    RepairOutcome,
    count_repeated_kinds,
    problem_kind,
    run_repairs,
)
from cortext.features.doctor.report import (
    ArchiveHealth,
    Diagnosis,
    Health,
    ToolHealth,
    diagnose,
    recheck,
)

_SHOWN = 3
"""How much is said of one file, unless all of it is asked for."""
_ROUNDS = 3


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
@click.option("--deep", is_flag=True, help="Read also what has not changed since it was sound.")
@click.option("-v", "--verbose", is_flag=True, help="Say all that is wrong with each file.")
@yes_option
@json_option
def command(fix: bool, deep: bool, verbose: bool, yes: bool, as_json: bool) -> None:
    """Say whether cortext and your AI tools work together, whether everything that is kept can be
    read, and what went wrong in the background.

    Without `--fix` nothing is changed. With it you see a plan first and are asked; the original of
    everything that is changed is kept. The exit code is 1 where something is wrong.
    """
    if yes and not fix:
        raise click.UsageError("--yes answers what --fix asks: give both")
    found = _look(deep)
    if fix:
        _fix(found, yes=yes, verbose=verbose, as_json=as_json)
        return
    if as_json:
        print_json(found.health)
    else:
        _say(_sentences(found.health, verbose))
    if not found.health.is_well:
        raise click.exceptions.Exit(1)


def _look(deep: bool) -> Diagnosis:
    bar = ProgressBar("bytes looked at")
    try:
        # Our MCP server is started to see whether it starts: that takes a second or more.
        bar.begin("looking at your tools and conversations")
        return diagnose(deep=deep, progress=bar.progress)
    finally:
        bar.clear()


def _say(lines: list[str], *, err: bool = False) -> None:
    for line in lines:
        click.echo(clean(line, lines=False), err=err)


def _fix(found: Diagnosis, *, yes: bool, verbose: bool, as_json: bool) -> None:
    """Show the repair plan, ask the user, run the repairs, and report the problems that remain.

    A repair can reveal further problems. These get another plan, for at most `_ROUNDS` rounds. Exit
    with 1 if a problem remains.
    """
    outcome, steps = RepairOutcome([], []), list[str]()
    for _ in range(_ROUNDS):
        new = [mend for mend in found.mends if mend.sentence not in steps]
        if not new:
            break
        sentences = [mend.sentence for mend in new]
        _say(_plan(sentences), err=True)
        if not _agreed(len(new), yes):
            _nothing_done(found, steps + sentences, outcome, as_json)
        steps += sentences
        done = run_repairs(new)
        outcome = RepairOutcome(outcome.mended + done.mended, outcome.failed + done.failed)
        recheck(found)
    if as_json:
        _print_fixed(found, steps, outcome)
    else:
        _say([*_done(outcome), *_problems(found.health, verbose)])
    if outcome.failed or not found.health.is_well:
        raise click.exceptions.Exit(1)


def _print_fixed(found: Diagnosis, plan: list[str], outcome: RepairOutcome) -> None:
    done = {"plan": plan, "mended": outcome.mended, "failed": outcome.failed}
    print_json({**done, "health": found.health})


def _plan(sentences: list[str]) -> list[str]:
    steps = [f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1)]
    return ["what will be done; the original of every conversation is kept:", *steps]


def _agreed(count: int, yes: bool) -> bool:
    what = "this" if count == 1 else f"these {count} things"
    return yes or (can_ask() and click.confirm(f"do {what}?", err=True))


def _nothing_done(found: Diagnosis, plan: list[str], outcome: RepairOutcome, as_json: bool) -> None:
    """Exit because the user declined the plan, or because there is no terminal to ask on.

    The exit code is 1 if the user declined, and 2 without a terminal.
    """
    if as_json:
        _print_fixed(found, plan, outcome)
    else:
        _say(_done(outcome))
    if can_ask():
        click.echo("nothing was done", err=True)
        raise click.exceptions.Exit(1)
    click.echo(f"error: {NOBODY_TO_ASK}", err=True)
    click.echo("hint: `cortext doctor --fix --yes` does it without asking", err=True)
    raise click.exceptions.Exit(2)


def _done(outcome: RepairOutcome) -> list[str]:
    lines: list[str] = []
    for done in outcome.mended:
        kept = f"; kept: {', '.join(done.kept)}" if done.kept else ""
        lines.append(f"mended: {done.did}{kept}")
    for failed in outcome.failed:
        lines.append(f"not done: {failed.step}: {failed.why}")
        lines += [f"hint: {failed.hint}"] if failed.hint else []
    return lines


def _sentences(health: Health, verbose: bool) -> list[str]:
    where = f"at {short(health.program)}" if health.program else "not on the PATH"
    lines = [f"cortext {health.version}, {where}"]
    lines += [_of_tool(tool) for tool in health.tools] or ["no AI tool was found"]
    lines.append(_of_places())
    lines += _of_server(health)
    lines.append(_of_archive(health.archive))
    lines += _of_conversations(health)
    if health.errors:
        lines += ["what failed last in hooks and in the background:"]
        lines += [f"- {line}" for line in health.errors]
    return [*lines, *_problems(health, verbose)]


def _problems(health: Health, verbose: bool) -> list[str]:
    lines: list[str] = []
    of_file: dict[str, int] = {}
    count = Counter(problem.path for problem in health.problems if problem.path)
    many = {} if verbose else count_repeated_kinds(health.problems)
    named: set[str] = set()
    for problem in health.problems:
        kind = problem_kind(problem)
        if kind in named:
            continue
        said = of_file[problem.path] = of_file.get(problem.path, 0) + 1
        if problem.path and said > _SHOWN and not verbose:
            if said == _SHOWN + 1:
                more = count[problem.path] - _SHOWN
                lines.append(f"- {problem.path}: {more} more of it (`--verbose` shows all)")
            continue
        lines.append(f"{problem.severity}: {problem.text}")
        # What `--fix` mends is said once, for all of them.
        lines += [] if problem.mend else [f"hint: {problem.hint}"]
        if kind in many:
            named.add(kind)
            lines.append(f"- the same in {many[kind] - 1:,} more files (`--verbose` shows all)")
    if mends := sum(bool(problem.mend) for problem in health.problems):
        of = "it" if mends == len(health.problems) == 1 else f"{mends} of them"
        lines.append(f"hint: `cortext doctor --fix` mends {of}: it shows how, and asks")
    return [*lines, "nothing is wrong"] if health.is_well else lines


def _of_conversations(health: Health) -> list[str]:
    """Return the line about the checked conversations, or no line if there are none."""
    if not health.conversations:
        return []

    looked = counted(health.conversations, "conversation")
    rest = health.conversations - health.read
    same = f"; {rest:,} have not changed since they were sound (`--deep` reads them too)"
    return [f"looked at {looked}, {health.read:,} of them read{same if rest else ''}"]


def _of_places() -> str:
    places = [
        f"{short(place.folder)} ({place.variable} is {'' if place.is_set else 'not '}set)"
        for place in history_locations()
    ]
    return f"histories are looked for in {', '.join(places)}"


def _of_tool(tool: ToolHealth) -> str:
    at = short(tool.program) if tool.program else "its program is not on the PATH"
    at += f" {tool.version}" if tool.version else ""
    at += "" if tool.tested else " (newer than what was tested)"
    parts = [
        f"{there} of our {what} {'is' if there == 'none' else 'are'} in it"
        for what, there in (("hooks", tool.hooks), ("commands", tool.commands))
        if there != "not used"
    ]
    if not tool.connected:
        parts = [f"not connected (`cortext setup --tools {tool.tool}`)"]
    return f"{tool.tool}: {at}; {', '.join(parts)}"


def _of_server(health: Health) -> list[str]:
    """Return the line about our MCP server, or no line if nothing is expected.

    Nothing is expected if the server is in no tool's settings and no tool is connected.
    """
    there = [tool.tool for tool in health.tools if tool.server == "present"]
    others = [tool for tool in health.tools if tool.server != "present"]
    if not there and not any(tool.connected or tool.server != "missing" for tool in others):
        return []
    parts = [f"in {', '.join(there)}"] if there else []
    for tool in others:
        more = f" (`cortext setup --tools {tool.tool}`)" if tool.server == "missing" else ""
        parts.append(f"{tool.tool}: {tool.server}{more}")
    server = health.server
    if server.starts:
        parts.append(f"it starts, with {server.tools} tools")
    elif server.starts is False:
        parts.append("it does not start")
    if not server.package:
        parts.append("the package `mcp` is not installed")
    return [f"MCP server: {'; '.join(parts)}"]


def _of_archive(archive: ArchiveHealth) -> str:
    if archive.enabled is None:
        return "archive: its setting cannot be read"
    if not archive.enabled:
        return "archive: turned off (`cortext config archive.enabled on`)"
    if archive.last_sync is None:
        return "archive: nothing was copied yet (`cortext sync`)"
    last = ago(int(archive.last_sync.timestamp() * 1_000_000))
    kept = f"{size(archive.sources)} kept in {size(archive.packed)}"
    transcripts = counted(archive.copies, "transcript")
    return f"archive: {transcripts}, {kept}, in {short(archive.folder)}; last sync {last}"
