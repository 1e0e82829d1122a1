"""How one point of a curve is measured, in a process that does nothing else."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

MOST = 40
_LEAST = 3
_ENOUGH = 0.25
"""Seconds after which three runs have to do."""
_LONG, _VERY_LONG = 1.5, 8
"""Seconds after which one has to, with all that was done before it; and after which the first one
counts."""


def seconds_of(
    work: Callable[[], object],
    *,
    before: Callable[[], object] | None = None,
    most: int = MOST,
) -> float:
    """The median seconds of at most so many runs; the first does not count, unless it takes
    very long. `before` each of them is done what is not timed."""
    spent: list[float] = []
    # What the work before left open, as a database, is closed: it would spare this one its own.
    gc.collect()
    began = time.perf_counter()
    for _ in range(most):
        if before is not None:
            before()
        start = time.perf_counter()
        work()
        end = time.perf_counter()
        spent.append(end - start)
        if (
            end - began > (_LONG if len(spent) > 1 else _VERY_LONG)
            or (len(spent) > _LEAST and sum(spent[1:]) > _ENOUGH)
        ):  # fmt: skip
            break
    return statistics.median(spent[1:] or spent)
