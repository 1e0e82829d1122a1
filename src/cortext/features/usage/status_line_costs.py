"""The costs in the status line of an AI tool.

A tool runs its status line every few seconds and waits for it. Therefore this module only reads
what the catalog has, and a background process reads the new lines of transcripts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from cortext import clock, paths
from cortext.catalog import CATALOG_VERSION
from cortext.catalog.rebuildable_database import connect_read_only, micros
from cortext.catalog.usage_costs import (
    CostSum,
    load_costs,
    load_last_activity,
    load_session_cost,
)
from cortext.features.archive.background_sync import claim_start, start_detached
from cortext.features.usage.block_times import BLOCK, find_block_starts
from cortext.features.usage.session_status import SessionStatus

_PROGRAM = "cortext.features.usage.background_usage_refresh"
_EVERY = 300.0
"""The minimum number of seconds between two starts of a process that reads all transcripts."""
_SESSION_EVERY = 5.0
"""The same for a process that reads the transcript of the current session."""
_RECENT = 60.0
"""A transcript that has not changed for so many seconds was read by an earlier process."""
_WAIT = 0.05
"""The maximum number of seconds to wait if another process locks the catalog."""


@dataclass(frozen=True)
class StatusLineCosts:
    """The costs in the status line. A cost is None if it is not known.

    `session` is the cost of the current session. The cost that the tool recorded wins. `today` is
    the cost since midnight in local time. `block` is the cost of the current block of five hours,
    which has `minutes_left`. Times of the sums are the start of the day and of the block.
    """

    session: CostSum | None = None
    today: CostSum | None = None
    block: CostSum | None = None
    minutes_left: int = 0


def load_status_line_costs(status: SessionStatus) -> StatusLineCosts:
    """Return the costs for the status line of a session, from the catalog as it is.

    If the catalog cannot be read, only the cost that the tool recorded is known.
    """
    recorded = None if status.cost_usd is None else CostSum(0, status.cost_usd, 0)
    try:
        with closing(connect_read_only(paths.catalog(), CATALOG_VERSION, wait=_WAIT)) as db:
            return _load_costs(db, recorded or load_session_cost(db, status.id))
    except (sqlite3.Error, UnicodeDecodeError):
        # The background process creates the catalog or repairs it.
        return StatusLineCosts(recorded)


def _load_costs(db: sqlite3.Connection, session: CostSum | None) -> StatusLineCosts:
    local = clock.now().astimezone()
    now, midnight = micros(local), micros(local.replace(hour=0, minute=0, second=0, microsecond=0))
    # After a pause as long as a block, a block does not depend on the blocks before.
    starts = find_block_starts(load_last_activity(db, BLOCK, now + 1))
    start = starts[-1] if starts and now < starts[-1] + BLOCK else None
    since = midnight if start is None else min(midnight, start)
    sums = [*load_costs(db, since, now + 1)]
    today = _add_up(midnight, sums)
    if start is None:
        return StatusLineCosts(session, today)
    minutes_left = (start + BLOCK - now) // 60_000_000
    return StatusLineCosts(session, today, _add_up(start, sums), minutes_left)


def _add_up(since: int, sums: Iterable[CostSum]) -> CostSum:
    parts = [part for part in sums if part.time >= since]
    return CostSum(since, sum(part.usd for part in parts), sum(part.unpriced for part in parts))


def start_usage_refresh(status: SessionStatus) -> bool:
    """Start a process that reads new usage, and do not wait for it. Return whether it was started.

    Every few minutes, the process reads all transcripts. In between, it reads the transcript of the
    current session if that has changed. In CI no process is started.
    """
    if os.environ.get("CI"):
        return False
    try:
        if claim_start(f"{paths.catalog()}.usage", _EVERY):
            return start_detached("-m", _PROGRAM)
        if status.id and _has_changed(status.path):
            due = claim_start(f"{paths.catalog()}.session-usage", _SESSION_EVERY)
            return due and start_detached("-m", _PROGRAM, status.id, status.path)
    except OSError:
        pass  # the usage could not be stored either
    return False


def _has_changed(path: str) -> bool:
    try:
        return time.time() - os.stat(path).st_mtime < _RECENT
    except OSError:
        return False
