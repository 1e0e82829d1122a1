"""What the page of charts counts: conversations of workspaces message by message, as `cortext
stats` does, and beside them the sessions that belong to none: of these the search index knows how
many messages it has read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from cortext import clock, paths
from cortext.app.new_texts import State
from cortext.app.stats import Cost, Day, Share, Stats, gather, streak
from cortext.app.warming import Warming
from cortext.index.listed import TOOL_NAMES, Listed
from cortext.index.spots import Identity
from cortext.index.words import Words
from cortext.web.pages.cards import local
from cortext.web.pages.shelf import NAMES

FRESH = 20.0
"""Seconds for which a count is good enough: all messages are read for one."""
WAIT = 3.0
"""Seconds that a count waits for what is new to be read."""
_LOOK = 0.02
UNKNOWN = "not recorded"


class Counted(NamedTuple):
    """Everything that the page shows. `hours` and `weekdays` are of workspaces only, where the
    messages themselves are read; `loose` is how many sessions belong to no workspace, and `unread`
    those of them whose messages nobody has counted yet."""

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
    unread: int
    damaged: int


class Counting:
    """One count serves the requests of the next moments, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warming = Warming()
        self._found: Counted | None = None
        self._counted = float("-inf")

    def count(self, rows: Sequence[Listed]) -> Counted:
        with self._lock:
            if self._found is None or time.monotonic() > self._counted + FRESH:
                loose = [row for row in rows if row.tool]
                self._catch_up(loose)
                stats = gather(paths.workspace_root(), everywhere=True)
                self._found = together(stats, loose, read_messages(loose))
                # What is being read just now is there the next time.
                goes_on = self._warming.goes_on
                self._counted = float("-inf") if goes_on else time.monotonic()
            return self._found

    def _catch_up(self, loose: Sequence[Listed]) -> None:
        """Have what is new read, for a while: the first time that is everything."""
        if not loose:
            return
        self._warming.start()
        end = time.monotonic() + WAIT
        while self._warming.goes_on and time.monotonic() < end:
            time.sleep(_LOOK)


def read_messages(loose: Sequence[Listed]) -> dict[Identity, int]:
    """How many messages each of the sessions has, of those that are known."""
    with Words.at_home() as words:
        known = words.known()
    found = {row.identity: row.messages for row in loose if row.messages}
    for row in loose:
        if row.identity in known and row.identity not in found:
            found[row.identity] = State.read(known[row.identity]).held
    return found


def together(stats: Stats, loose: Sequence[Listed], said: Mapping[Identity, int]) -> Counted:
    """Both. A session of a tool counts on the day on which something was last said in it; `said` is
    how many messages each has, where that is known."""
    days = {day.day: Day(day.day, day.conversations, day.messages) for day in stats.days}
    tools, types, models = (_by_name(s) for s in (stats.tools, stats.types, stats.models))
    for row in loose:
        name = f"{local(row.last_active):%Y-%m-%d}"
        day = days.setdefault(name, Day(name))
        day.conversations += 1
        messages = said.get(row.identity, 0)
        day.messages += messages
        _add(tools, NAMES.get(row.tool, row.tool), messages, row.tokens)
        _add(types, row.kind or "chat", messages, row.tokens)
        _add(models, row.model or UNKNOWN, messages, row.tokens)
    in_a_row = streak({date.fromisoformat(day) for day in days}, clock.now().astimezone().date())
    reported, guessed = stats.tokens.reported, stats.tokens.estimated
    own = reported.prompt + reported.completion + guessed.prompt + guessed.completion
    return Counted(
        conversations=stats.totals.conversations + len(loose),
        messages=stats.totals.messages + sum(said.get(row.identity, 0) for row in loose),
        tokens=own + sum(row.tokens for row in loose),
        cost=stats.cost,
        days=days,
        tools=_ranked(tools),
        types=_ranked(types),
        models=_ranked(models),
        hours=stats.hours,
        weekdays=stats.weekdays,
        streak=in_a_row.current,
        longest_streak=in_a_row.longest,
        loose=len(loose),
        unread=sum(row.identity not in said for row in loose),
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


def _add(shares: dict[str, Share], name: str, messages: int, tokens: int) -> None:
    share = shares.setdefault(name, Share(name))
    share.conversations += 1
    share.messages += messages
    share.tokens += tokens


def _ranked(shares: dict[str, Share]) -> list[Share]:
    return sorted(shares.values(), key=lambda one: (-one.conversations, -one.messages, one.name))
