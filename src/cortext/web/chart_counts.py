"""The numbers on the page of charts: conversations, messages, tokens and costs.

Every conversation is counted message by message, as `cortext stats --all` does. Sessions of AI
tools that belong to no workspace are also counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.features.stats.conversation_stats import StandaloneCounts
from cortext.features.stats.stats import Cost, DayStats, Share, gather
from cortext.web.conversation_lookup import source_name

FRESH = 20.0
"""Seconds for which the last numbers are shown again, because counting reads all messages."""
WAIT = 3.0
"""The most seconds that counting waits while new messages are read."""


class ChartCounts(NamedTuple):
    """All numbers that the page of charts shows.

    `days` has the numbers of each day, by ISO date. `hours` and `weekdays` have one number for each
    hour of the day and each day of the week. `loose` is the number of sessions that belong to no
    workspace, and `unread` is how many of these sessions are not read yet. `damaged` is the number
    of conversations with unreadable parts.
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
    """A counter of all conversations for the page of charts. Thread-safe.

    The result is cached for `FRESH` seconds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts = StandaloneCounts()
        self._found: ChartCounts | None = None
        self._counted = float("-inf")

    def count(self, rows: Sequence[ConversationRow]) -> ChartCounts:
        with self._lock:
            if self._found is None or time.monotonic() > self._counted + FRESH:
                loose = [row for row in rows if row.tool]
                self._parts.catch_up(loose, WAIT)
                self._found = self._count(loose)
                # While sessions are still being read, the next request counts again.
                goes_on = self._parts.goes_on
                self._counted = float("-inf") if goes_on else time.monotonic()
            return self._found

    def _count(self, loose: Sequence[ConversationRow]) -> ChartCounts:
        known = self._parts.of(loose)
        stats = gather(paths.workspace_root(), everywhere=True, tool="", more=known.parts)
        reported, guessed = stats.tokens.reported, stats.tokens.estimated
        return ChartCounts(
            conversations=stats.totals.conversations,
            messages=stats.totals.messages,
            tokens=sum(each.prompt + each.completion for each in (reported, guessed)),
            cost=stats.cost,
            days={day.day: day for day in stats.days},
            tools=_named(stats.tools),
            types=_ranked(stats.types),
            models=_ranked(stats.models),
            hours=stats.hours,
            weekdays=stats.weekdays,
            streak=stats.streak.current,
            longest_streak=stats.streak.longest,
            loose=len(loose),
            unread=known.unread,
            damaged=len(stats.damaged),
        )


def _named(shares: Iterable[Share]) -> list[Share]:
    """Rename the shares of tools to the names on the pages, and merge shares with the same name."""
    found: dict[str, Share] = {}
    for share in shares:
        name = " + ".join(source_name(part) for part in share.name.split(" + "))
        one = found.setdefault(name, Share(name))
        one.conversations += share.conversations
        one.messages += share.messages
        one.tokens += share.tokens
        one.cost_usd += share.cost_usd
    return _ranked(found.values())


def _ranked(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda one: (-one.conversations, -one.messages, one.name))
