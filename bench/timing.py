"""How we time: the contestants take turns, so that a noisy machine is noisy for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Operation = Callable[[], object]
Figures = dict[str, list[float]]


def in_turns(operations: Mapping[str, Operation], rounds: int, batch: int = 1) -> dict[str, float]:
    """The median seconds of each operation; in every round each is done `batch` times."""
    times: Figures = {name: [] for name in operations}
    for _ in range(rounds):
        for name, operation in operations.items():
            for _ in range(batch):
                start = time.perf_counter()
                operation()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(spent) for name, spent in times.items()}


def runs(measure: Callable[[int], Mapping[str, float]], count: int = 5) -> Figures:
    """Every run's figure for every contestant."""
    figures: Figures = {}
    for number in range(count):
        for name, value in measure(number).items():
            figures.setdefault(name, []).append(value)
    return figures


def median(figures: Figures, name: str) -> float:
    return statistics.median(figures[name])


def ratio(figures: Figures, ours: str, floor: str) -> float:
    """The median over the runs of ours / floor, each taken within one run."""
    return statistics.median(a / b for a, b in zip(figures[ours], figures[floor], strict=True))
