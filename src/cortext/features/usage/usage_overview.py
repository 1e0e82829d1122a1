"""The usage of all tools in several groupings at once, for the web page.

The web page shows many periods and projects of the same usage, so the usage is read once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date

import msgspec

from cortext.catalog.row import ConversationRow
from cortext.catalog.usage_table import UsageSum
from cortext.features.usage.usage_refresh import Progress
from cortext.features.usage.usage_report import (
    UNKNOWN,
    load_usage,
    local_day,
    rows_by_session,
    sums_in_project,
)
from cortext.features.usage.usage_totals import UsageTotals, rank_by_cost


class UsageSnapshot(msgspec.Struct, frozen=True):
    """All usage of all tools at one moment.

    `rows` maps the tool and the id of each session to the row that lists show for it.
    """

    sums: Sequence[UsageSum]
    rows: Mapping[tuple[str, str], ConversationRow]

    @property
    def folders(self) -> set[str]:
        """The folders of all projects that have usage."""
        sessions = {(part.tool, part.session) for part in self.sums}
        return {self.rows[key].folder for key in sessions if key in self.rows} - {""}


class ConversationUsage(msgspec.Struct):
    """The usage of one conversation. `row` is None if lists do not show the session `id`."""

    id: str
    row: ConversationRow | None
    totals: UsageTotals


class UsageOverview(msgspec.Struct):
    """The usage between two times.

    `days` has the usage by local day and model; the day None is for answers without a time in their
    transcript. `projects` has the usage by folder; the folder ""
    is for sessions whose folder is unknown. `conversations` starts with the most expensive
    conversation. `unpriced_models` are the models without a known price.
    """

    total: UsageTotals
    days: Mapping[tuple[date | None, str], UsageTotals]
    projects: Mapping[str, UsageTotals]
    conversations: Sequence[ConversationUsage]
    unpriced_models: Sequence[str]


def take_snapshot(root: str, progress: Progress | None = None) -> UsageSnapshot:
    """Read new usage of all tools, and return all usage."""
    return UsageSnapshot(load_usage(root, progress=progress), rows_by_session(root))


def summarize_usage(
    snapshot: UsageSnapshot,
    *,
    since: int | None = None,
    until: int | None = None,
    folder: str = "",
) -> UsageOverview:
    """Return an overview of the usage between two times.

    `since` and `until` are in microseconds since 1970; None means no limit. Usage is stored for
    each quarter of an hour, so both times should be full quarters. `folder` is the path of a
    project: only sessions that took place there are counted.
    """
    sums: Sequence[UsageSum] = [
        part
        for part in snapshot.sums
        if (since is None or part.time >= since) and (until is None or part.time < until)
    ]
    if folder:
        sums = sums_in_project(sums, snapshot.rows, folder)
    total = UsageTotals()
    days: defaultdict[tuple[date | None, str], UsageTotals] = defaultdict(UsageTotals)
    projects: defaultdict[str, UsageTotals] = defaultdict(UsageTotals)
    conversations: dict[tuple[str, str], ConversationUsage] = {}
    for part in sums:
        row = snapshot.rows.get((part.tool, part.session))
        identity = row.identity if row else (part.tool, part.session)
        conversation = conversations.get(identity)
        if conversation is None:
            conversation = ConversationUsage(part.session, row, UsageTotals())
            conversations[identity] = conversation
        for totals in (
            total,
            days[local_day(part.time) if part.time else None, part.model or UNKNOWN],
            projects[row.folder if row else ""],
            conversation.totals,
        ):
            totals.add(part)
    return UsageOverview(
        total,
        days,
        projects,
        sorted(conversations.values(), key=lambda each: rank_by_cost(each.totals)),
        sorted({part.model or UNKNOWN for part in sums if part.unpriced}),
    )
