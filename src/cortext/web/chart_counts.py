"""The numbers on the page of charts: conversations, messages, tokens and costs.

The messages of all conversations are counted, as by `cortext stats --all`. Sessions of AI tools
that belong to no workspace are counted, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.catalog.usage_table import UsageSum
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.stats.conversation_stats import StandaloneCounts
from cortext.features.stats.stats import Cost, DayStats, Share, gather
from cortext.web.conversation_lookup import source_name
from cortext.web.usage_pages.usage_reading import UsageReading

FRESH = 20.0
"""Seconds for which a result is reused, because counting is slow: it reads all messages."""
WAIT = 3.0
"""Seconds that counting waits for new messages to be read. Reading continues in a thread."""


class ChartCounts(NamedTuple):
    """All numbers that the page of charts shows.

    - `days`: the numbers of each day, by ISO date
    - `hours`, `weekdays`: the number of user messages in each hour of the day, and on each day of
      the week
    - `streak`: the current number of days in a row with a message
    - `loose`: the number of sessions that belong to no workspace
    - `unread`: the number of sessions without a workspace that are not read yet
    - `damaged`: the number of conversations with unreadable parts
    """

    conversations: int
    messages: int
    tokens: int
    cost: Cost
    days: dict[str, DayStats]
    tools: list[Share]
    types: list[Share]
    models: list[Share]
    hours: list[int]
    weekdays: list[int]
    streak: int
    longest_streak: int
    loose: int
    unread: int
    damaged: int


class Counting:
    """Counts all conversations for the page of charts. The result is cached for some seconds.

    Several threads may use one object.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standalone = StandaloneCounts()
        self._usage = UsageReading()
        self._counts: ChartCounts | None = None
        self._counted_at = float("-inf")

    def count(self, rows: Sequence[ConversationRow]) -> ChartCounts:
        with self._lock:
            if self._counts is None or time.monotonic() > self._counted_at + FRESH:
                loose = [row for row in rows if row.tool]
                self._standalone.catch_up(loose, WAIT)
                usage = self._usage.snapshot()
                self._counts = self._count(loose, None if usage is None else usage.sums)
                # While sessions are still being read, the next request counts again.
                is_reading = self._standalone.goes_on or usage is None
                self._counted_at = float("-inf") if is_reading else time.monotonic()
            return self._counts

    def _count(
        self, loose: Sequence[ConversationRow], usage: Sequence[UsageSum] | None
    ) -> ChartCounts:
        """Count all conversations. `usage` is None while it is still being read."""
        standalone = self._standalone.of(loose)
        stats = gather(
            paths.workspace_root(),
            ListFilter(tool=""),
            everywhere=True,
            more=standalone.parts,
            usage=usage or (),
        )
        unread = max(standalone.unread, self._usage.unread or 1 if usage is None else 0)
        reported, guessed = stats.tokens.reported, stats.tokens.estimated
        return ChartCounts(
            conversations=stats.totals.conversations,
            messages=stats.totals.messages,
            tokens=sum(each.prompt + each.completion for each in (reported, guessed)),
            cost=stats.cost,
            days={day.day: day for day in stats.days},
            tools=_with_page_names(stats.tools),
            types=_sort_by_size(stats.types),
            models=_sort_by_size(stats.models),
            hours=stats.hours,
            weekdays=stats.weekdays,
            streak=stats.streak.current,
            longest_streak=stats.streak.longest,
            loose=len(loose),
            unread=unread,
            damaged=len(stats.damaged),
        )


def _with_page_names(shares: Iterable[Share]) -> list[Share]:
    """Return `shares` with the display names of the tools instead of their names.

    A `Share` has the numbers of one tool, such as the number of messages. If several tools have the
    same display name, their numbers are added up.
    """
    merged: dict[str, Share] = {}
    for share in shares:
        name = " + ".join(source_name(part) for part in share.name.split(" + "))
        total = merged.setdefault(name, Share(name))
        total.conversations += share.conversations
        total.messages += share.messages
        total.tokens += share.tokens
        total.cost_usd += share.cost_usd
    return _sort_by_size(merged.values())


def _sort_by_size(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda one: (-one.conversations, -one.messages, one.name))
