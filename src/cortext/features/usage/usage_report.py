"""The report of `cortext usage`: tokens and cost, by day, project, model or conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Literal, get_args

import msgspec

from cortext import clock
from cortext.catalog.catalog import Catalog
from cortext.catalog.rebuildable_database import micros
from cortext.catalog.row import ConversationRow
from cortext.catalog.usage_table import UsageSum
from cortext.config import Config
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList
from cortext.features.listing.project_names import project_names
from cortext.features.listing.row_filters import is_in_project
from cortext.features.usage.prices import load_prices
from cortext.features.usage.usage_blocks import UsageBlock, split_into_blocks
from cortext.features.usage.usage_refresh import Progress, refresh_usage
from cortext.features.usage.usage_totals import UsageTotals, rank_by_cost

Grouping = Literal["day", "week", "month", "project", "model", "tool", "conversation"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
TIMES: tuple[Grouping, ...] = ("day", "week", "month")
"""The groupings whose groups are in the order of time."""
UNKNOWN = "not recorded"
_END_OF_TIME = 2**62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class UsageGroup(msgspec.Struct):
    """The usage of one day, week, month, project, model, tool or conversation.

    `name` is the date, the name of the project, the model, the tool, or the id of the conversation.
    `title` is the title of the conversation; "" for other groups. `models` are the models that
    wrote the answers.
    """

    name: str
    totals: UsageTotals
    models: list[str]
    title: str = ""


class UsageReport(msgspec.Struct):
    """The usage of all tools, in groups. `unpriced_models` are the models without a known price."""

    by: Grouping
    groups: list[UsageGroup]
    total: UsageTotals
    unpriced_models: list[str]


def gather_usage(
    root: str,
    by: Grouping = "day",
    *,
    since: int | None = None,
    until: int | None = None,
    folder: str = "",
    progress: Progress | None = None,
) -> UsageReport:
    """Return the usage of all tools, in groups.

    `since` and `until` are times in microseconds since 1970; None means no limit. `folder` is the
    path of a project: only sessions that took place there are counted. If the groups are days,
    weeks or months, they begin in local time and are in the order of time. Otherwise the most
    expensive group comes first.
    """
    sums = load_usage(root, since=since, until=until, progress=progress)
    rows: Mapping[tuple[str, str], ConversationRow] = {}
    if folder or by in ("project", "conversation"):
        rows = rows_by_session(root)
    if folder:
        sums = sums_in_project(sums, rows, folder)
    return _group(by, sums, _namer(by, rows), rows)


def gather_blocks(
    root: str,
    *,
    since: int | None = None,
    until: int | None = None,
    folder: str = "",
    progress: Progress | None = None,
) -> list[UsageBlock]:
    """Return the usage of all tools in blocks of five hours, the oldest first.

    The arguments are those of `gather_usage`. A block is included completely if a part of it is in
    the given time.
    """
    sums = load_usage(root, progress=progress)
    if folder:
        sums = sums_in_project(sums, rows_by_session(root), folder)
    return [
        block
        for block in split_into_blocks(sums, micros(clock.now()))
        if (since is None or block.end > since) and (until is None or block.start < until)
    ]


def load_usage(
    root: str,
    *,
    since: int | None = None,
    until: int | None = None,
    progress: Progress | None = None,
) -> list[UsageSum]:
    """Read new usage of all tools, and return the usage between two times.

    `since` and `until` are in microseconds since 1970; None means no limit.
    """
    prices = load_prices(str(Config.load(root)["stats.prices"]))
    with Catalog.at_home() as catalog:
        refresh_usage(catalog, prices, progress)
        return catalog.usage_sums(
            -_END_OF_TIME if since is None else since, _END_OF_TIME if until is None else until
        )


def spent_this_month(root: str) -> float:
    """Return the known cost of this month, in local time, in US dollars."""
    start = clock.now().astimezone().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return sum(part.usd for part in load_usage(root, since=micros(start)))


def sums_in_project(
    sums: Iterable[UsageSum], rows: Mapping[tuple[str, str], ConversationRow], folder: str
) -> list[UsageSum]:
    """Return the usage of the sessions that took place in a project. `folder` is its path."""
    is_wanted = is_in_project(folder)
    return [part for part in sums if (row := rows.get(_key(part))) and is_wanted(row)]


def _group(
    by: Grouping,
    sums: Iterable[UsageSum],
    name_of: Callable[[UsageSum], str],
    rows: Mapping[tuple[str, str], ConversationRow],
) -> UsageReport:
    total = UsageTotals()
    groups: dict[tuple[str, ...], UsageGroup] = {}
    unpriced: set[str] = set()
    for part in sums:
        name, model = name_of(part), part.model or UNKNOWN
        row = rows.get(_key(part)) if by == "conversation" else None
        # Two tools may give their sessions the same id.
        key = (name,) if by != "conversation" else row.identity if row else _key(part)
        group = groups.get(key)
        if group is None:
            group = groups[key] = UsageGroup(name, UsageTotals(), [], row.title if row else "")
        group.totals.add(part)
        total.add(part)
        if model not in group.models:
            group.models.append(model)
        if part.unpriced:
            unpriced.add(model)
    ordered = sorted(groups.values(), key=lambda group: group.name)
    if by not in TIMES:
        ordered.sort(key=lambda group: rank_by_cost(group.totals))
    return UsageReport(by, ordered, total, sorted(unpriced))


def _namer(
    by: Grouping, rows: Mapping[tuple[str, str], ConversationRow]
) -> Callable[[UsageSum], str]:
    """Return a function that returns the name of the group to which a usage sum belongs."""
    if by in TIMES:
        return lambda part: _local_name(by, part.time)
    if by == "model":
        return lambda part: part.model or UNKNOWN
    if by == "tool":
        return lambda part: part.tool
    if by == "project":
        names = project_names(row.folder for row in rows.values())
        folders = {key: names[row.folder] for key, row in rows.items()}
        return lambda part: folders.get(_key(part)) or UNKNOWN
    return lambda part: row.key if (row := rows.get(_key(part))) else part.session


def _local_name(by: Grouping, time: int) -> str:
    """Return the local day, week or month of a time, such as 2026-01-31, 2026-W05 or 2026-01."""
    if not time:
        return UNKNOWN  # the transcript has no valid time for the answer
    day = local_day(time)
    if by == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    return f"{day:%Y-%m}" if by == "month" else day.isoformat()


def local_day(time: int) -> date:
    """Return the local day of a time in microseconds since 1970."""
    when = _EPOCH + timedelta(microseconds=time)
    try:
        return when.astimezone().date()
    except OverflowError:
        return when.date()  # the local day is later than the last day of the calendar


def rows_by_session(root: str) -> dict[tuple[str, str], ConversationRow]:
    """Return the row that lists show for each tool session, by tool and session id.

    This is the row of the conversation to which the session belongs. If there is no conversation,
    it is the row of the session itself.
    """
    with ConversationList(root, everywhere=True) as conversations:
        listed = conversations.list(EVERYTHING, patience=None).rows
    rows: dict[tuple[str, str], ConversationRow] = {}
    for row in listed:
        if row.tool:
            rows[row.tool, row.key] = row
        for bound in row.bindings:
            rows.setdefault((bound.tool, bound.session_id), row)
    return rows


def _key(part: UsageSum) -> tuple[str, str]:
    return part.tool, part.session
