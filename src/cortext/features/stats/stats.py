"""The statistics of `cortext stats`: conversations by time, type, tool and model, and the cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta

from msgspec import Struct

from cortext import clock
from cortext.catalog.row import ConversationRow
from cortext.catalog.usage_table import UsageSum
from cortext.features.archive.archive_copy_states import Size, sizes
from cortext.features.listing.conversation_list import EVERYTHING, ConversationList, ListFilter
from cortext.features.stats.conversation_stats import ConversationCount, count_conversation
from cortext.features.usage.prices import Prices, load_prices
from cortext.features.usage.usage_report import UNKNOWN, load_usage
from cortext.features.usage.usage_totals import UsageTotals
from cortext.model.answer_usage import TokenUsage

_LONGEST_COUNT = 5

Progress = Callable[[int, int], None]
"""A callback that gets the number of conversations read so far and the total number."""


class Totals(Struct):
    """The totals over all counted conversations.

    An exchange is a user message with everything up to the next user message.
    """

    conversations: int = 0
    messages: int = 0
    exchanges: int = 0
    by_status: dict[str, int] = {}


class DayStats(Struct):
    """The number of conversations and the number of messages on one day.

    `day` is the local date in ISO format.
    """

    day: str
    conversations: int = 0
    messages: int = 0


class Share(Struct):
    """The totals of all conversations that have the same type, tool or model.

    `name` is the name of the type, tool or model. `cost_usd` includes only known costs. The tokens
    and the cost of a model are those of its answers, also in conversations that count for another
    model.
    """

    name: str
    conversations: int = 0
    messages: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


class TokenStats(Struct):
    prompt: int = 0
    completion: int = 0
    conversations: int = 0


class CountedTokens(Struct):
    """The tokens of all counted conversations.

    `reported` are the tokens that tools reported. `estimated` are the tokens of the other
    conversations. The estimate is one token for four characters.
    """

    reported: TokenStats
    estimated: TokenStats


class Cost(Struct):
    """The cost of all counted conversations.

    `usd` is the total in US dollars: the sum of `recorded_usd`, which tools recorded, and
    `from_prices_usd`, which is computed from prices. The other fields are numbers of conversations:

    - `recorded`: conversations with a recorded cost
    - `from_prices`: conversations with a computed cost; a part of it may be recorded
    - `on_estimates`: conversations with a cost that is computed from estimated tokens
    - `unknown`: conversations without a known cost
    """

    usd: float = 0.0
    recorded_usd: float = 0.0
    recorded: int = 0
    from_prices_usd: float = 0.0
    from_prices: int = 0
    on_estimates: int = 0
    unknown: int = 0


class Long(Struct):
    """One of the longest conversations.

    Conversations of several workspaces may have the same `id`, but differ in `workspace`. For a
    session that belongs to no workspace, `workspace` is the folder in which the session took place.
    """

    id: str
    title: str
    messages: int
    address: str
    workspace: str


class Streak(Struct):
    """Runs of consecutive days with at least one message each. Both values are numbers of days.

    `current` is the run that ends today or yesterday, and `longest` is the longest run ever.
    """

    current: int = 0
    longest: int = 0


class Damaged(Struct):
    id: str
    detail: str


class Stats(Struct):
    """The complete result of `cortext stats`.

    `usage` is a part of `tokens` and `cost`: the answers that `cortext usage` counts for these
    conversations. `hours` and `weekdays` (Monday first) count user messages. `damaged` are
    conversations that could not be read completely. `archive` is the size of the whole archive,
    without any filter.
    """

    since: str | None
    totals: Totals
    days: list[DayStats]
    types: list[Share]
    tools: list[Share]
    models: list[Share]
    tokens: CountedTokens
    cost: Cost
    usage: UsageTotals
    hours: list[int]
    weekdays: list[int]
    longest: list[Long]
    busiest_day: DayStats | None
    streak: Streak
    damaged: list[Damaged]
    missing_workspaces: list[str]
    archive: list[Size]


def gather(
    root: str,
    wanted: ListFilter = EVERYTHING,
    *,
    everywhere: bool = False,
    progress: Progress | None = None,
    more: Iterable[tuple[ConversationRow, ConversationCount]] = (),
    usage: Iterable[UsageSum] | None = None,
) -> Stats:
    """Return the statistics of the workspace or folder `root`.

    `wanted` selects conversations. If `wanted.since` is set, only messages since then are counted.
    If `everywhere` is true, conversations of all workspaces and folders are included. Tool sessions
    that belong to no workspace are included too, unless `wanted.tool` is "". `more` has further
    conversations to include. The caller has already computed the statistics of each.
    `usage` is the usage of all tools; if it is None, it is read. A damaged conversation is listed
    in the result, and its readable part is counted.
    """
    conversations = ConversationList(root, everywhere=everywhere)
    prices = load_prices(str(conversations.config["stats.prices"]))
    listing = conversations.list(wanted, capture=True, patience=None)
    start = None if wanted.since is None else clock.from_micros(wanted.since)
    if usage is None:
        usage = load_usage(root, since=wanted.since, progress=progress)
    total = _Total(start, prices, usage)
    for number, row in enumerate(listing.rows, 1):
        total.add(row, count_conversation(row, start))
        if progress is not None:
            progress(number, len(listing.rows))
    for row, part in more:
        total.add(row, part)
    return total.stats(listing.missing)


class _Total:
    """The running totals, to which conversations are added one by one.

    The conversations are not kept in memory.
    """

    def __init__(self, since: datetime | None, prices: Prices, usage: Iterable[UsageSum]) -> None:
        self._since, self._prices = since, prices
        self._sums: defaultdict[tuple[str, str], list[UsageSum]] = defaultdict(list)
        for part in usage:
            self._sums[part.tool, part.session].append(part)
        self._usage = UsageTotals()
        self._totals = Totals(by_status={})
        self._days: dict[date, DayStats] = {}
        self._shares: tuple[dict[str, Share], ...] = ({}, {}, {})
        self._tokens = CountedTokens(TokenStats(), TokenStats())
        self._cost = Cost()
        self._hours, self._weekdays = [0] * 24, [0] * 7
        self._longest: list[Long] = []
        self._damaged: list[Damaged] = []

    def add(self, row: ConversationRow, part: ConversationCount) -> None:
        status = row.status or "no session"
        self._totals.conversations += 1
        self._totals.by_status[status] = self._totals.by_status.get(status, 0) + 1
        self._add_times(part)
        sums = self._take_usage(row)
        tokens, cost = self._add_usage(sums) if sums else self._add_cost(row, part)
        names = (row.kind or "chat", part.tool, part.model)
        for shares, name in zip(self._shares, names, strict=True):
            share = shares.setdefault(name, Share(name))
            share.conversations += 1
            share.messages += part.messages
            if not sums or shares is not self._models:
                share.tokens += tokens
                share.cost_usd += cost
        for used in sums:
            name = used.model or UNKNOWN
            share = self._models.setdefault(name, Share(name))
            share.tokens += used.tokens.total
            share.cost_usd += used.usd
        self._longest.append(
            Long(row.key, row.title, part.messages, row.address, row.workspace or row.working_dir)
        )
        self._longest = sorted(self._longest, key=lambda long: -long.messages)[:_LONGEST_COUNT]
        if part.damage:
            self._damaged.append(Damaged(row.key, part.damage))

    def _add_times(self, part: ConversationCount) -> None:
        self._totals.messages += part.messages
        self._totals.exchanges += part.exchanges
        for day, number in part.days.items():
            found = self._days.setdefault(day, DayStats(day.isoformat()))
            found.conversations += 1
            found.messages += number
        for counts, added in ((self._hours, part.hours), (self._weekdays, part.weekdays)):
            for place, number in added.items():
                counts[place] += number

    @property
    def _models(self) -> dict[str, Share]:
        return self._shares[2]

    def _take_usage(self, row: ConversationRow) -> list[UsageSum]:
        """Return the usage of the sessions of a conversation, which no other conversation gets."""
        keys = {(bound.tool, bound.session_id) for bound in row.bindings} | {(row.tool, row.key)}
        return [part for key in keys for part in self._sums.pop(key, ())]

    def _add_usage(self, sums: Iterable[UsageSum]) -> tuple[int, float]:
        """Add the usage of one conversation, and return its tokens and its cost."""
        used, total, reported = UsageTotals(), self._cost, self._tokens.reported
        for part in sums:
            used.add(part)
        self._usage.merge(used)
        reported.prompt += used.tokens - used.output
        reported.completion += used.output
        reported.conversations += 1
        total.usd += used.cost_usd
        total.recorded_usd += used.recorded_usd
        total.from_prices_usd += used.computed_usd
        total.recorded += used.recorded_usd > 0
        total.from_prices += used.computed_usd > 0
        total.unknown += used.unpriced_answers == used.answers
        return used.tokens, used.cost_usd

    def _add_cost(self, row: ConversationRow, part: ConversationCount) -> tuple[int, float]:
        """Add the tokens and the cost of a conversation without usage, and return both.

        Such a conversation took place in `aur spawn` or in a program, or its transcripts are lost.
        """
        if part.tokens is None:
            return 0, 0.0
        prompt, completion, reported = part.tokens
        kind = self._tokens.reported if reported else self._tokens.estimated
        kind.prompt += prompt
        kind.completion += completion
        kind.conversations += 1
        cost, total = part.recorded_usd, self._cost
        if cost is not None:
            total.recorded += 1
            total.recorded_usd += cost
        else:
            cost = self._price_by_file(row, part.model, TokenUsage(prompt, completion))
            if cost is not None:
                total.from_prices += 1
                total.from_prices_usd += cost
                total.on_estimates += not reported
        total.unknown += cost is None
        total.usd += cost or 0.0
        return prompt + completion, cost or 0.0

    def _price_by_file(self, row: ConversationRow, model: str, tokens: TokenUsage) -> float | None:
        """Return the cost by the user's price file, or None if the file has no price for the model.

        Built-in prices are not used: they would be misleading, because the sums of a conversation
        do not say which tokens came from a cache. For the same reason, special prices for long
        prompts are not used.
        """
        if not self._prices.is_in_file(model):
            return None
        price = self._prices.find(model, row.last_active)
        return None if price is None else price.sum_up(tokens)

    def stats(self, missing: list[str]) -> Stats:
        days = [self._days[day] for day in sorted(self._days)]
        types, tools, models = (_rank(shares.values()) for shares in self._shares)
        return Stats(
            since=None if self._since is None else self._since.astimezone().isoformat(),
            totals=self._totals,
            days=days,
            types=types,
            tools=tools,
            models=models,
            tokens=self._tokens,
            cost=self._cost,
            usage=self._usage,
            hours=self._hours,
            weekdays=self._weekdays,
            longest=[long for long in self._longest if long.messages],
            busiest_day=max(days, key=lambda day: day.messages, default=None),
            streak=streak(set(self._days), clock.now().astimezone().date()),
            damaged=self._damaged,
            missing_workspaces=missing,
            archive=sizes(),
        )


def streak(days: set[date], today: date) -> Streak:
    """Return the current and the longest run of days with a message.

    `days` are the days with messages. A run that ended yesterday still counts as current.
    """
    found = Streak()
    run, before = 0, None
    for day in sorted(days):
        run = run + 1 if before is not None and day - before == timedelta(days=1) else 1
        before = day
        found.longest = max(found.longest, run)
        if day in (today, today - timedelta(days=1)):
            found.current = run
    return found


def _rank(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.messages, -share.conversations, share.name))
