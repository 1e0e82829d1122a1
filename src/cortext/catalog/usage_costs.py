"""Read costs from the tables of token usage. The status line needs them within milliseconds.

The module `usage_table` creates and fills the tables. It takes longer to load than these queries.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning")
"""The kinds of tokens, which are columns of the tables of answers and of sums."""
QUARTER = 900_000_000
"""A quarter of an hour in microseconds. Every time zone differs from UTC by whole quarters."""


@dataclass(frozen=True)
class CostSum:
    """The cost of the answers in one quarter of an hour.

    `time` is the start of the quarter, in microseconds since 1970. `usd` is the known cost, and
    `unpriced` is the number of answers whose cost is unknown.
    """

    time: int
    usd: float
    unpriced: int


def load_costs(db: sqlite3.Connection, since: int, until: int) -> Iterator[CostSum]:
    """Yield the costs of all sessions from `since` until `until`, by quarter of an hour.

    Both times are in microseconds since 1970. The quarter that contains `until` is included.
    """
    query = (
        "SELECT quarter, total(usd), sum(unpriced) FROM usage_sums "
        "WHERE quarter >= ? AND quarter <= ? GROUP BY quarter"
    )
    for quarter, usd, unpriced in db.execute(query, (since // QUARTER, until // QUARTER)):
        yield CostSum(quarter * QUARTER, usd, unpriced)


def load_session_cost(db: sqlite3.Connection, session: str) -> CostSum | None:
    """Return the cost of the session with the id `session`, or None if it has no answers.

    `time` is 0. Answers that count for another session are left out.
    """
    query = (
        "SELECT sum(answers), total(usd), sum(unpriced) FROM usage_sums u "
        "JOIN usage_sessions s ON s.id = u.session WHERE s.session = ?"
    )
    answers, usd, unpriced = db.execute(query, (session,)).fetchone()
    return CostSum(0, usd, unpriced) if answers else None


def load_last_activity(db: sqlite3.Connection, pause: int, until: int) -> list[int]:
    """Return the times of the answers after the last long pause before `until`, latest first.

    A pause is long if it takes at least `pause` microseconds. Each time is the start of a quarter
    of an hour, in microseconds since 1970.
    """
    found: list[int] = []
    last = until
    query = (
        "SELECT DISTINCT quarter FROM usage_sums WHERE quarter > 0 AND quarter <= ? "
        "ORDER BY quarter DESC"
    )
    for (quarter,) in db.execute(query, (until // QUARTER,)):
        time = quarter * QUARTER
        if last - time >= pause:
            break
        found.append(time)
        last = time
    return found
