"""The command `cortext stats`: show how often you use which AI tool, and the cost."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import date, timedelta
from textwrap import wrap
from typing import Any

import click

from cortext import clock, paths
from cortext.cli.common_options import all_option, json_option, print_json
from cortext.cli.list_options import SourceType, project_options
from cortext.cli.progress import ProgressBar
from cortext.cli.terminal_text import cells, clean, fit
from cortext.cli.time_options import SinceType
from cortext.cli.views.bar_chart import bar, can_draw, columns, counted, short, size
from cortext.features.archive.archive_copy_states import Size
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.stats.conversation_stats import UNKNOWN
from cortext.features.stats.stats import Cost, CountedTokens, Long, Share, Stats, gather

_DAYS = 30
_CHART_HEIGHT = 6
_PIPED_WIDTH = 80
_MAX_WIDTH = 110
_MAX_SHARES = 8
_MIN_BAR, _MAX_BAR = 6, 30
_ASCII = {ord("·"): "-", ord("…"): "~"}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@click.command("stats")
@all_option
@project_options
@click.option(
    "--since",
    type=SinceType(),
    help="Count only messages since this time: 2026-01-31, 7d, 4w, 3mo.",
)
@click.option("--type", "kind", metavar="TYPE", help="Count only conversations of this type.")
@click.option(
    "--tool",
    type=SourceType(),
    help="Count only conversations that took place in this tool. `document` means sessions of your "
    "own programs.",
)
@json_option
def command(
    everywhere: bool,
    folder: str | None,
    branch: str | None,
    since: int | None,
    kind: str | None,
    tool: str | None,
    as_json: bool,
) -> None:
    """Count your conversations and messages, by day, type, tool and model.

    The report also shows tokens, cost, the size of the archive, and your longest conversations.
    """
    progress_bar = ProgressBar("reading conversations")
    stats = gather(
        paths.workspace_root(),
        ListFilter(kind=kind, since=since, tool=tool, folder=folder or "", branch=branch or ""),
        everywhere=everywhere or bool(folder),
        progress=progress_bar.progress,
    )
    progress_bar.clear()
    if as_json:
        print_json(stats)
    elif stats.totals.conversations:
        _Report(stats).print()
    else:
        _Report(stats).archive()
        click.echo("No conversations to count.", err=True)
        if not (everywhere or folder):
            click.echo("hint: to count all workspaces: `cortext stats --all`", err=True)
        click.echo("hint: to start a conversation: `cortext new brainstorm TOPIC`", err=True)
    for root in stats.missing_workspaces:
        click.echo(f"warning: the folder {clean(root, lines=False)} does not exist", err=True)
    for damaged in stats.damaged:
        what = clean(f"{damaged.id}: {damaged.detail}", lines=False)
        click.echo(f"warning: only partly counted, because of damage: {what}", err=True)


class _Report:
    """A report that prints the statistics as text and charts for the user."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        terminal = sys.stdout.isatty()
        self._encoding = sys.stdout.encoding or "ascii"
        self._blocks = can_draw(self._encoding)
        self._is_limited = terminal
        self._colour = terminal and not os.environ.get("NO_COLOR")
        self._colour = self._colour and os.environ.get("TERM") not in (None, "", "dumb")
        self._width = _PIPED_WIDTH
        if terminal:
            self._width = min(max(shutil.get_terminal_size().columns, 50), _MAX_WIDTH)

    def print(self) -> None:
        stats = self._stats
        self._totals()
        self._per_day()
        for title, shares in (
            ("Types", stats.types),
            ("Tools", stats.tools),
            ("Models", stats.models),
        ):
            self._shares(title, shares)
        self._say("")
        self._facts("Tokens", _token_lines(stats.tokens))
        self._facts("Cost", _cost_lines(stats.cost))
        self.archive()
        self._hours_and_weekdays()
        self._longest()

    def archive(self) -> None:
        """Print the sizes of the archived transcripts and of the original transcripts."""
        if self._stats.archive:
            self._facts("Archive", _archive_lines(self._stats.archive))

    def _totals(self) -> None:
        totals = self._stats.totals
        parts = (
            counted(totals.conversations, "conversation"),
            counted(totals.messages, "message"),
            counted(totals.exchanges, "exchange"),
        )
        self._say(" · ".join(parts), bold=True)
        statuses = sorted(totals.by_status.items())
        facts = [f"{number:,} {clean(status, lines=False)}" for status, number in statuses]
        if self._stats.since:
            facts.append(f"since {self._stats.since[:10]}")
        self._say(" · ".join(facts), dim=True)

    def _per_day(self) -> None:
        """Print a chart of the messages per day, the busiest day and the streaks of active days."""
        stats = self._stats
        if stats.busiest_day is None:
            return
        today = clock.now().astimezone().date()
        number = _DAYS
        if stats.since:
            number = min(max((today - date.fromisoformat(stats.since[:10])).days + 1, 7), _DAYS)
        days = [today - timedelta(days=back) for back in range(number - 1, -1, -1)]
        known = {day.day: day.messages for day in stats.days}
        values = [known.get(day.isoformat(), 0) for day in days]
        self._title(f"Messages per day, last {number} days")
        step = self._chart(values)
        weeks = [(number - 1) % 7 + 7 * week for week in range(number)]
        self._axis(
            [(place, f"{days[place]:%b} {days[place].day}") for place in weeks if place < number],
            step,
        )
        busy = stats.busiest_day
        day = date.fromisoformat(busy.day)
        counts = counted(busy.messages, "message"), counted(busy.conversations, "conversation")
        self._say(f"  busiest  {day:%a %b} {day.day}, {day.year}: {counts[0]}, {counts[1]}")
        now, best = stats.streak.current, stats.streak.longest
        self._say(f"  streak   {counted(now, 'day')}, longest {counted(best, 'day')}")

    def _shares(self, title: str, shares: list[Share]) -> None:
        if [share.name for share in shares] == [UNKNOWN]:
            return
        shown = shares[:_MAX_SHARES] if self._is_limited else shares
        names = [clean(share.name, lines=False) for share in shown]
        label = max(*map(cells, names), len(title))
        label = min(label, self._width // 3) if self._is_limited else label
        heads = ["conversations", "messages", "  tokens"]
        heads += ["    cost"] if any(share.cost_usd for share in shares) else []
        room = self._bar_width(label, heads)
        numbers = "".join(f"{head:>{len(head) + 2}}" for head in heads)
        self._title(f"{fit(title, label + room + 3)}{numbers}")
        most = max(share.messages for share in shown)
        for share, name in zip(shown, names, strict=True):
            drawn = self._paint(bar(share.messages, most, room, blocks=self._blocks))
            numbers = "".join(f"{_format_share(share, head):>{len(head) + 2}}" for head in heads)
            self._say(f"  {fit(name, label)} {drawn}{numbers}")
        if len(shares) > len(shown):
            self._say(f"  and {len(shares) - len(shown)} more", dim=True)

    def _bar_width(self, label: int, heads: list[str]) -> int:
        """Return the width of the bars in a table with labels, bars and columns of numbers.

        `label` is the width of the labels. `heads` are the headings of the columns. In a narrow
        terminal, this method removes headings from `heads` to make room for the bars.
        """
        while True:
            room = self._width - label - 3 - sum(len(head) + 2 for head in heads)
            if room >= _MIN_BAR or len(heads) == 1:
                return min(max(room, 1), _MAX_BAR)
            heads.pop(1 if len(heads) == 2 else 2)

    def _hours_and_weekdays(self) -> None:
        stats = self._stats
        if not any(stats.hours):
            return
        self._title("Your messages by hour and weekday")
        step = self._chart(stats.hours)
        self._axis([(hour, f"{hour:02}") for hour in range(0, 24, 3)], step)
        self._say("")
        most = max(stats.weekdays)
        for name, number in zip(_WEEKDAYS, stats.weekdays, strict=True):
            drawn = bar(number, most, min(self._width - 20, 50), blocks=self._blocks).rstrip()
            self._say(f"  {name} {self._paint(drawn)} {number:,}")

    def _longest(self) -> None:
        if not self._stats.longest:
            return
        self._title("Longest conversations")
        for long, name in zip(self._stats.longest, names_of(self._stats.longest), strict=True):
            line = f"  {long.messages:>7,}  {name}  {clean(long.title, lines=False)}"
            self._say(fit(line, self._width).rstrip() if self._is_limited else line)

    def _chart(self, values: list[int]) -> int:
        """Print a chart with a vertical bar for each value, and the highest value beside the chart.

        Return the number of terminal columns of each bar, including the gap after it.
        """
        step = max(min((self._width - 10) // len(values), 4), 1)
        wide, gap = (step - 1, 1) if step > 1 else (1, 0)
        lines = columns(values, height=_CHART_HEIGHT, wide=wide, gap=gap, blocks=self._blocks)
        for row, line in enumerate(lines):
            side = f"{max(values):,}" if row == 0 else ""
            self._say(f"{side:>8} {self._paint(line.rstrip())}".rstrip())
        return step

    def _axis(self, labels: list[tuple[int, str]], step: int) -> None:
        line = ""
        for place, label in labels:
            at = place * step
            if at >= len(line) + bool(line):
                line = line.ljust(at) + label
        self._say(" " * 9 + line, dim=True)

    def _facts(self, name: str, facts: list[str]) -> None:
        lines = [line for fact in facts for line in wrap(fact, self._width - 8)]
        for number, line in enumerate(lines):
            self._say(f"{self._styled(fit('' if number else name, 8), bold=True)}{line}")

    def _title(self, text: str) -> None:
        self._say("")
        self._say(text, bold=True)

    def _paint(self, drawn: str) -> str:
        return self._styled(drawn, fg="cyan")

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self._colour and text.strip() else text

    def _say(self, text: str, **style: Any) -> None:
        line = self._styled(text if self._blocks else text.translate(_ASCII), **style)
        click.echo(line.encode(self._encoding, "replace").decode(self._encoding))


def _token_lines(tokens: CountedTokens) -> list[str]:
    lines: list[str] = []
    for counts, how in ((tokens.reported, "reported by the tool"), (tokens.estimated, "estimated")):
        if counts.conversations:
            parts = f"{short(counts.prompt)} prompt, {short(counts.completion)} completion"
            where = counted(counts.conversations, "conversation")
            about = "" if counts is tokens.reported else "about "
            lines.append(f"{about}{parts}, {how}, in {where}")
    return lines or ["none"]


def _archive_lines(archive: list[Size]) -> list[str]:
    parts = [(one.sources, one.packed) for one in archive]
    lines = [
        f"{one.tool}: {counted(one.copies, 'transcript')}, {size(one.sources)} compressed to "
        f"{size(one.packed)}"
        for one in archive
    ]
    if len(archive) > 1:
        before, after = (sum(numbers) for numbers in zip(*parts, strict=True))
        lines.append(f"total: {size(before)} compressed to {size(after)}")
    return lines


def _cost_lines(cost: Cost) -> list[str]:
    lines: list[str] = []
    if cost.recorded:
        where = counted(cost.recorded, "conversation")
        lines.append(f"{_dollars(cost.recorded_usd)} recorded by the tool in {where}")
    if cost.from_prices:
        where = counted(cost.from_prices, "conversation")
        guess = (
            f", {cost.on_estimates:,} of them with estimated tokens" if cost.on_estimates else ""
        )
        lines.append(f"{_dollars(cost.from_prices_usd)} computed from prices in {where}{guess}")
    if cost.recorded and cost.from_prices:
        lines.insert(0, f"{_dollars(cost.usd)} in total")
    if cost.unknown:
        lines.append(f"unknown for {counted(cost.unknown, 'conversation')}")
    return lines or ["none"]


def _format_share(share: Share, head: str) -> str:
    if head == "conversations":
        return f"{share.conversations:,}"
    if head == "messages":
        return f"{share.messages:,}"
    if head.strip() == "tokens":
        return short(share.tokens)
    return _dollars(share.cost_usd) if share.cost_usd else "-"


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 or not amount else f"${amount:.4f}"


def names_of(longest: list[Long]) -> list[str]:
    """Return a unique name for each conversation.

    The name is the id. If several conversations have the same id, it is `DATE/ID`. If that is not
    unique either, it is `WORKSPACE/DATE/ID`.
    """
    ids = [long.id for long in longest]
    days = [long.address for long in longest]
    return [
        clean(
            long.id
            if ids.count(long.id) == 1
            else long.address
            if days.count(long.address) == 1
            else f"{os.path.basename(long.workspace)}/{long.address}",
            lines=False,
        )
        for long in longest
    ]
