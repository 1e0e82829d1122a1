"""What the page of charts counts: conversations of workspaces message by message, as `cortext
stats` does, and beside them the sessions that belong to none, as lists know them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext import paths
from cortext.app.stats import Cost, Day, Share, Stats, gather
from cortext.index.listed import TOOL_NAMES, Listed
from cortext.web.pages.cards import local
from cortext.web.pages.shelf import NAMES

FRESH = 20.0
"""Seconds for which a count is good enough: all messages are read for one."""
UNKNOWN = "not recorded"


class Counted(NamedTuple):
    """Everything that the page shows. `hours` and `weekdays` are of workspaces only, where the
    messages themselves are read; `loose` is how many sessions belong to no workspace."""

    conversations: int
    messages: int
    tokens: int
    cost: Cost
    days: dict[str, Day]
    tools: list[Share]
    types: list[Share]
    models: list[Share]
    hours: list[int]
    weekdays: list[int]
    streak: int
    longest_streak: int
    loose: int
    damaged: int


class Counting:
    """One count serves the requests of the next moments, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Counted | None = None
        self._counted = float("-inf")

    def count(self, rows: Sequence[Listed]) -> Counted:
        with self._lock:
            if self._found is None or time.monotonic() > self._counted + FRESH:
                stats = gather(paths.workspace_root(), everywhere=True)
                self._found = together(stats, [row for row in rows if row.tool])
                self._counted = time.monotonic()
            return self._found


def together(stats: Stats, loose: Sequence[Listed]) -> Counted:
    """Both. A session of a tool counts on the day on which something was last said in it."""
    days = {day.day: Day(day.day, day.conversations, day.messages) for day in stats.days}
    tools, types, models = (_by_name(s) for s in (stats.tools, stats.types, stats.models))
    for row in loose:
        name = f"{local(row.last_active):%Y-%m-%d}"
        day = days.setdefault(name, Day(name))
        day.conversations += 1
        day.messages += row.messages
        _add(tools, NAMES.get(row.tool, row.tool), row)
        _add(types, row.kind or "chat", row)
        _add(models, row.model or UNKNOWN, row)
    reported, guessed = stats.tokens.reported, stats.tokens.estimated
    own = reported.prompt + reported.completion + guessed.prompt + guessed.completion
    return Counted(
        conversations=stats.totals.conversations + len(loose),
        messages=stats.totals.messages + sum(row.messages for row in loose),
        tokens=own + sum(row.tokens for row in loose),
        cost=stats.cost,
        days=days,
        tools=_ranked(tools),
        types=_ranked(types),
        models=_ranked(models),
        hours=stats.hours,
        weekdays=stats.weekdays,
        streak=stats.streak.current,
        longest_streak=stats.streak.longest,
        loose=len(loose),
        damaged=len(stats.damaged),
    )


def _by_name(shares: Iterable[Share]) -> dict[str, Share]:
    """With the names that the pages have for tools."""
    found: dict[str, Share] = {}
    for share in shares:
        name = " + ".join(TOOL_NAMES.get(part, part) for part in share.name.split(" + "))
        one = found.setdefault(name, Share(name))
        one.conversations += share.conversations
        one.messages += share.messages
        one.tokens += share.tokens
        one.cost_usd += share.cost_usd
    return found


def _add(shares: dict[str, Share], name: str, row: Listed) -> None:
    share = shares.setdefault(name, Share(name))
    share.conversations += 1
    share.messages += row.messages
    share.tokens += row.tokens


def _ranked(shares: dict[str, Share]) -> list[Share]:
    return sorted(shares.values(), key=lambda one: (-one.conversations, -one.messages, one.name))
