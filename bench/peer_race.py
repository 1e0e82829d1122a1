"""Processes that append to one conversation at once, by one contestant's store each: what was
acknowledged, and what is there."""

from __future__ import annotations

import time
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any

from bench.forks import in_child, in_children
from bench.peer_bounds import Bounds
from bench.peers import Peer

TEXT = "x" * 500


def run(make: type[Peer], folder: str, bounds: Bounds) -> dict[str, Any]:
    """The cells of the table. The conversation is there before anybody writes to it."""
    in_child(lambda: _prepare(make, folder), bounds.patience)
    together = get_context("fork").Barrier(bounds.writers)
    works = [
        lambda number=number: _write(make, folder, bounds, number, together)
        for number in range(bounds.writers)
    ]
    told = [each.found for each in in_children(works, bounds.patience) if each.found]
    if not told:
        return {}
    acknowledged = sum(done for done, _, _ in told)
    seconds = max(end for _, _, end in told) - min(start for _, start, _ in told)
    present = in_child(lambda: _present(make, folder), bounds.patience).found or 0
    errors = bounds.writers * bounds.each - acknowledged
    return {"rate": acknowledged / seconds, "writers": [acknowledged, present, errors]}


def _prepare(make: type[Peer], folder: str) -> None:
    peer = make()
    peer.open(folder)
    peer.append("race", "user", "first")
    peer.close()


def _write(
    make: type[Peer], folder: str, bounds: Bounds, number: int, together: Barrier
) -> tuple[int, float, float]:
    """How many were acknowledged, from when until when. All begin when each has opened its
    store."""
    peer = make()
    peer.open(folder)
    peer.load("race")
    together.wait(bounds.patience)
    start, done = time.time(), 0
    for turn in range(bounds.each):
        try:
            peer.append("race", "user", f"{number}-{turn} {TEXT}")
            done += 1
        except Exception:
            continue  # counted by what is missing
    return done, start, time.time()


def _present(make: type[Peer], folder: str) -> int:
    peer = make()
    peer.open(folder)
    return len(peer.load("race")) - 1
