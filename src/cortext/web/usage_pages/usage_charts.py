"""The layout of the charts on the page of usage: positions and sizes, without markup.

All positions and sizes are percentages of the drawing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from cortext import clock
from cortext.features.listing.project_names import project_names
from cortext.features.listing.time_ranges import Span
from cortext.features.usage.usage_overview import UsageOverview
from cortext.features.usage.usage_report import UNKNOWN, local_day
from cortext.features.usage.usage_totals import UsageTotals, rank_by_cost
from cortext.web.chart_geometry import MAX_BARS
from cortext.web.conversation_lookup import key_of

MAX_COLUMNS = 100
_MAX_SERIES = 6
_MAX_CONVERSATIONS = 15
_LABELS = 5
_FILL = 0.76
"""The width of a column, as a part of the distance between two columns."""

Step = Literal["day", "week", "month"]
Measure = Callable[[UsageTotals], float]


class Segment(NamedTuple):
    """The part of a column that belongs to one model.

    `series` is the number of the model in `UsageCharts.names`.
    """

    series: int
    y: float
    height: float
    totals: UsageTotals


class StackedColumn(NamedTuple):
    name: str
    x: float
    segments: list[Segment]


class AxisLabel(NamedTuple):
    x: float
    text: str
    anchor: str


class StackedChart(NamedTuple):
    """A chart in which each column is stacked from one segment for each model.

    - `width`: the width of each column
    - `top`: the value at the top of the drawing
    - `series`: the models in the chart, as indexes of `UsageCharts.names`
    """

    columns: list[StackedColumn]
    width: float
    labels: list[AxisLabel]
    top: float
    series: list[int]


class PeriodRow(NamedTuple):
    """A row of the table: the usage in one day, week or month.

    `when` is the period as a query parameter of the page; "" for answers without a time. `models`
    maps each model, as an index of `UsageCharts.names`, to its usage.
    """

    name: str
    when: str
    total: UsageTotals
    models: Mapping[int, UsageTotals]


class ProjectBar(NamedTuple):
    """The bar of one project. The bar of all other projects together has the `folder` ""."""

    name: str
    folder: str
    totals: UsageTotals
    length: float


class ConversationCost(NamedTuple):
    """One of the most expensive conversations. `key` is "" if the conversation has no web page."""

    key: str
    title: str
    folder: str
    totals: UsageTotals


class UsageCharts(NamedTuple):
    """The chart of costs, the chart of tokens, and the rows of the table below them.

    `names` are the names of the models. The last name may stand for several models, as in "3
    others".
    """

    step: Step
    names: list[str]
    cost: StackedChart
    tokens: StackedChart
    rows: list[PeriodRow]


def draw_usage(overview: UsageOverview, span: Span) -> UsageCharts:
    """Return the charts and the table of a usage overview, which must not be empty.

    `span` is the time span that the charts show.
    """
    days = [day for day, _ in overview.days if day is not None]
    today = clock.now().astimezone().date()
    first = min(days, default=today) if span.since is None else local_day(span.since)
    last = max([today, *days]) if span.until is None else local_day(span.until - 1)
    step = _choose_step(first, last)
    names, numbers = _rank_models(overview.days)
    usage: defaultdict[date, defaultdict[int, UsageTotals]] = defaultdict(
        lambda: defaultdict(UsageTotals)
    )
    undated: defaultdict[int, UsageTotals] = defaultdict(UsageTotals)
    for (day, model), totals in overview.days.items():
        models = undated if day is None else usage[_start(day, step)]
        models[numbers[model]].merge(totals)
    starts = _list_starts(first, last, step) or sorted(usage)[-MAX_COLUMNS:]
    rows = [
        PeriodRow(_name(start, step), _period(start, step), _sum(models.values()), models)
        for start, models in sorted(usage.items(), reverse=True)
    ]
    if undated:
        rows.append(PeriodRow(UNKNOWN, "", _sum(undated.values()), undated))
    return UsageCharts(
        step,
        names,
        _stack(starts, usage, step, lambda totals: totals.cost_usd),
        _stack(starts, usage, step, lambda totals: totals.tokens),
        rows,
    )


def project_bars(projects: Mapping[str, UsageTotals]) -> list[ProjectBar]:
    """Return a bar for each of the most expensive projects, and one bar for all other projects."""
    names = project_names(projects)
    ranked = sorted(projects.items(), key=lambda item: rank_by_cost(item[1]))
    shown = [(names[folder] or UNKNOWN, folder, totals) for folder, totals in ranked[:MAX_BARS]]
    rest = ranked[MAX_BARS:]
    if rest:
        shown.append((f"{len(rest)} others", "", _sum(totals for _, totals in rest)))
    most = max((totals.cost_usd for _, _, totals in shown), default=0) or 1
    return [
        ProjectBar(name, folder, totals, round(100 * totals.cost_usd / most, 2))
        for name, folder, totals in shown
    ]


def expensive_conversations(overview: UsageOverview) -> list[ConversationCost]:
    """Return the most expensive conversations, with the cost and the tokens of each."""
    names = project_names(overview.projects)
    return [
        ConversationCost(
            key_of(each.row) if each.row else "",
            (each.row and each.row.title) or each.id,
            names[each.row.folder] if each.row else "",
            each.totals,
        )
        for each in overview.conversations[:_MAX_CONVERSATIONS]
    ]


def _rank_models(
    days: Mapping[tuple[date | None, str], UsageTotals],
) -> tuple[list[str], dict[str, int]]:
    """Rank the models by their usage. Return their names, and a dict with the number of each model.

    The number of a model is the index of its name. If there are many models, those with the least
    usage share the last name, such as "3 others".

    The rank depends on the model's part of all costs or of all tokens, whichever is larger, because
    a model without a known price has no cost.
    """
    models: defaultdict[str, UsageTotals] = defaultdict(UsageTotals)
    for (_, model), totals in days.items():
        models[model].merge(totals)
    all_cost = sum(totals.cost_usd for totals in models.values()) or 1
    all_tokens = sum(totals.tokens for totals in models.values()) or 1

    def size(model: str) -> float:
        return max(models[model].cost_usd / all_cost, models[model].tokens / all_tokens)

    ranked = sorted(models, key=lambda model: (-size(model), model))
    names = ranked
    if len(ranked) > _MAX_SERIES + 1:
        names = [*ranked[:_MAX_SERIES], f"{len(ranked) - _MAX_SERIES} others"]
    return names, {model: min(n, len(names) - 1) for n, model in enumerate(ranked)}


def _choose_step(first: date, last: date) -> Step:
    days = (last - first).days + 1
    if days <= MAX_COLUMNS:
        return "day"
    return "week" if days <= 7 * MAX_COLUMNS else "month"


def _start(day: date, step: Step) -> date:
    """Return the first day of the period that contains `day`. A period is a day, week or month."""
    if step == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if step == "month" else day


def _end(start: date, step: Step) -> date:
    """Return the first day after a period. `start` is the first day of the period."""
    if step == "month":
        return _add_days(start, 31).replace(day=1)
    return _add_days(start, 7 if step == "week" else 1)


def _add_days(day: date, number: int) -> date:
    """Return the day that is `number` days later, but at most the last possible date."""
    return date.fromordinal(min(day.toordinal() + number, date.max.toordinal()))


def _list_starts(first: date, last: date, step: Step) -> list[date]:
    """Return the first day of each period from `first` to `last`.

    Return an empty list if there are too many periods.
    """
    if (last - first).days > 30 * MAX_COLUMNS:
        return []
    starts = [_start(first, step)]
    while starts[-1] < (start := _end(starts[-1], step)) <= last:
        starts.append(start)
    return starts


def _name(start: date, step: Step) -> str:
    if step == "month":
        return f"{start:%Y-%m}"
    return f"week of {start}" if step == "week" else str(start)


def _period(start: date, step: Step) -> str:
    """Return a period as a query parameter of the page.

    An example is "2026-05-04..2026-05-10" for a week.
    """
    if step == "week":
        return f"{start}..{_add_days(start, 6)}"
    return _name(start, step)


def _stack(
    starts: Sequence[date],
    usage: Mapping[date, Mapping[int, UsageTotals]],
    step: Step,
    measure: Measure,
) -> StackedChart:
    heights = [sum(map(measure, usage.get(start, {}).values())) for start in starts]
    top = _round_up(max(heights))
    width = 100 / len(starts)
    columns: list[StackedColumn] = []
    for number, start in enumerate(starts):
        segments: list[Segment] = []
        y = 100.0
        for series, totals in sorted(usage.get(start, {}).items()):
            height = 100 * measure(totals) / top
            if height:
                y -= height
                segments.append(Segment(series, round(y, 3), round(height, 3), totals))
        x = round(width * (number + (1 - _FILL) / 2), 3)
        columns.append(StackedColumn(_name(start, step), x, segments))
    series = {segment.series for column in columns for segment in column.segments}
    return StackedChart(columns, round(width * _FILL, 3), _label(starts, step), top, sorted(series))


def _label(starts: Sequence[date], step: Step) -> list[AxisLabel]:
    """Return at most five labels below the columns. The first and the last column have a label."""
    last = len(starts) - 1
    count = min(_LABELS, len(starts))
    numbers = sorted({round(n * last / max(count - 1, 1)) for n in range(count)})
    return [
        AxisLabel(
            round(100 * (number + 0.5) / len(starts), 3),
            f"{starts[number].day} {starts[number]:%b}"
            if step == "day"
            else f"{starts[number]:%b %Y}",
            "middle" if 0 < number < last or not last else "end" if number else "start",
        )
        for number in numbers
    ]


def _round_up(value: float) -> float:
    """Round a value up to 1, 2 or 5 times a power of ten. Return 1 for 0."""
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if value <= factor * power * 1.000001)


def _sum(parts: Iterable[UsageTotals]) -> UsageTotals:
    total = UsageTotals()
    for part in parts:
        total.merge(part)
    return total
