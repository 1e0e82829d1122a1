"""The command `cortext usage`: show the tokens and the cost of AI tools."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any, cast

import click

from cortext import clock, paths
from cortext.cli.common_options import json_option, print_json
from cortext.cli.list_options import complete_folder
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import clean
from cortext.cli.time_options import SinceType, UntilType
from cortext.cli.views.bar_chart import bar, can_draw, counted, dollars, short
from cortext.cli.views.text_table import align, find_width
from cortext.config import Config
from cortext.features.usage.usage_blocks import UsageBlock
from cortext.features.usage.usage_report import (
    GROUPINGS,
    TIMES,
    Grouping,
    UsageReport,
    gather_blocks,
    gather_usage,
    spent_this_month,
)
from cortext.features.usage.usage_totals import UsageTotals

_KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning")
_MAX_NAME = 44
_BAR = 20
_LONG_ID, _SHORT_ID = 36, 13
"""The length of a tool's session id, and of its beginning that a terminal shows."""
_WARN_FROM = 0.8
"""A warning appears if this part of the budget is spent."""


@click.command("usage")
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    default="day",
    show_default=True,
    help="What each line of the table is about.",
)
@click.option("--blocks", is_flag=True, help="Show blocks of five hours, and the current block.")
@click.option("--since", type=SinceType(), help="Only answers since: 2026-01-31, 7d, 4w, 3mo.")
@click.option("--until", type=UntilType(), help="Only answers until: 2026-01-31, 7d, 4w, 3mo.")
@click.option(
    "--in",
    "folder",
    metavar="DIR",
    shell_complete=complete_folder,
    help="Only sessions in this folder or below; other worktrees of the same repository count too.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@json_option
def command(
    by: str,
    blocks: bool,
    since: int | None,
    until: int | None,
    folder: str | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show the tokens and the cost of your AI tools, by day, project, model or conversation.

    Each answer counts once, with all kinds of tokens. If a tool recorded the cost of an answer,
    that cost counts. Otherwise the cost is computed from the prices that are part of cortext.
    """
    root = paths.workspace_root()
    progress = ProgressBar("reading transcripts")
    report = gather_usage(
        root,
        cast("Grouping", by),
        since=since,
        until=until,
        folder=folder or "",
        progress=progress.progress,
    )
    progress.clear()
    if blocks:
        found = gather_blocks(root, since=since, until=until, folder=folder or "")
        _print_blocks(found, as_json=as_json, as_csv=as_csv)
    elif as_json:
        print_json(_as_json(report))
    elif as_csv:
        _print_csv(by, [(group.name, group.totals) for group in report.groups])
    elif report.groups:
        _print_report(report)
    if not report.groups:
        filters = {"--since": since, "--until": until, "--in": folder}
        _explain_nothing([option for option, value in filters.items() if value is not None])
    _warn(report, root)


def _explain_nothing(options: Sequence[str]) -> None:
    """Say that there is no usage, with a hint. `options` are the filters that the user gave."""
    click.echo("No usage was found.", err=True)
    hint = "`cortext doctor` shows where cortext looks for sessions"
    if options:
        hint = f"try again without {' and '.join(options)}"
    click.echo(f"hint: {hint}", err=True)


def _as_json(report: UsageReport) -> dict[str, Any]:
    """Return the report as a dict for JSON.

    In the dict of a group, the key for the group's name is the value of `report.by`, such as `day`.
    """
    return {
        "by": report.by,
        "groups": [
            {
                report.by: group.name,
                **({"title": group.title} if report.by == "conversation" else {}),
                "models": group.models,
                **_fields(group.totals),
            }
            for group in report.groups
        ],
        "total": _fields(report.total),
        "unpriced_models": report.unpriced_models,
    }


def _fields(totals: UsageTotals) -> dict[str, int | float]:
    names = UsageTotals.__struct_fields__
    return {name: _rounded(getattr(totals, name)) for name in names}


def _rounded(value: float) -> int | float:
    return round(value, 6) if isinstance(value, float) else value


def _print_csv(by: str, rows: Iterable[tuple[str, UsageTotals]]) -> None:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([by, *UsageTotals.__struct_fields__])
    for name, totals in rows:
        writer.writerow([clean(name, lines=False), *_fields(totals).values()])
    click.echo(text.getvalue(), nl=False)


def _print_report(report: UsageReport) -> None:
    names = [
        f"{_short_id(group.name)}  {group.title}" if group.title else group.name
        for group in report.groups
    ]
    totals = [group.totals for group in report.groups]
    _print_table(report.by.upper(), [*names, "Total"], [*totals, report.total])
    if report.by in TIMES and len(report.groups) == 1:
        models = ", ".join(report.groups[0].models)
        click.echo(f"models: {clean(models, lines=False)}", err=True)
    if report.total.recorded_usd:
        recorded = f"${report.total.recorded_usd:,.2f}"
        click.echo(f"{recorded} of the cost was recorded by tools; the rest is computed.", err=True)


def _short_id(id: str) -> str:
    """Return the beginning of a long id in a terminal, so that there is room for the title."""
    return id[:_SHORT_ID] if len(id) == _LONG_ID and sys.stdout.isatty() else id


def _print_table(title: str, names: Sequence[str], totals: Sequence[UsageTotals]) -> None:
    """Print a table whose last row is the total of the other rows."""
    most = max((each.cost_usd for each in totals[:-1]), default=0.0)
    columns = [
        [title, *(clean(name, lines=False) for name in names)],
        ["ANSWERS", *(f"{each.answers:,}" for each in totals)],
        ["INPUT", *(short(each.input) for each in totals)],
        ["OUTPUT", *(short(each.output) for each in totals)],
        ["CACHE READ", *(short(each.cache_read) for each in totals)],
        ["CACHE WRITE", *(short(each.cache_write + each.cache_write_1h) for each in totals)],
        ["COST", *(dollars(each.cost_usd, is_part=each.unpriced_answers > 0) for each in totals)],
    ]
    widths = [min(find_width(columns[0]), _MAX_NAME), *(find_width(each) for each in columns[1:])]
    cells = [align(columns[0], widths[0])]
    cells += [
        align(column, width, right=True)
        for column, width in zip(columns[1:], widths[1:], strict=True)
    ]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths)
    is_chart = sys.stdout.isatty() and room >= _BAR // 2 and len(totals) > 2
    for number, row in enumerate(zip(*cells, strict=True)):
        line = "  ".join(row)
        if is_chart and 0 < number < len(totals):
            cost = totals[number - 1].cost_usd
            line += "  " + bar(cost, most, min(room, _BAR), blocks=can_draw(sys.stdout.encoding))
        click.echo(line.rstrip())


def _print_blocks(blocks: Sequence[UsageBlock], *, as_json: bool, as_csv: bool) -> None:
    names = [_block_name(block) for block in blocks]
    if as_json:
        print_json(
            [
                {
                    "start": clock.from_micros(block.start).isoformat(),
                    "end": clock.from_micros(block.end).isoformat(),
                    "is_current": block.is_current,
                    "projected_usd": block.projected_usd and round(block.projected_usd, 6),
                    "projected_tokens": block.projected_tokens,
                    **_fields(block.totals),
                }
                for block in blocks
            ]
        )
    elif as_csv:
        _print_csv("block", zip(names, (block.totals for block in blocks), strict=True))
    elif blocks:
        total = UsageTotals()
        for block in blocks:
            total.merge(block.totals)
        _print_table("BLOCK", [*names, "Total"], [*(block.totals for block in blocks), total])
        if blocks[-1].is_current:
            _print_projection(blocks[-1])


def _block_name(block: UsageBlock) -> str:
    start = clock.from_micros(block.start).astimezone()
    return f"{start:%Y-%m-%d %H:%M}{' now' if block.is_current else ''}"


def _print_projection(block: UsageBlock) -> None:
    end = clock.from_micros(block.end).astimezone()
    left = max((clock.from_micros(block.end) - clock.now()).total_seconds() // 60, 0)
    tokens = counted(block.projected_tokens or 0, "token")
    click.echo(
        f"The current block ends at {end:%H:%M}, in {left // 60:.0f} h {left % 60:02.0f} min. "
        f"At this rate it will cost ${block.projected_usd or 0:,.2f}, with {tokens}."
    )


def _warn(report: UsageReport, root: str) -> None:
    """Print a warning for each model without a price.

    Also print a warning if most of this month's budget is spent.
    """
    for model in report.unpriced_models:
        click.echo(f"warning: no price is known for {clean(model, lines=False)}", err=True)
    if report.unpriced_models:
        answers = counted(report.total.unpriced_answers, "answer")
        click.echo(f"hint: the cost of {answers} is not included", err=True)
        click.echo(
            "hint: `cortext config stats.prices FILE` uses the prices in your file", err=True
        )
    budget = int(Config.load(root)["usage.budget"])
    if not budget:
        return
    spent = spent_this_month(root)
    if spent >= budget * _WARN_FROM:
        share = spent / budget
        click.echo(
            f"warning: this month you have used {share:.0%} of your budget: "
            f"${spent:,.2f} of ${budget:,}",
            err=True,
        )
