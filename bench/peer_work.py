"""(a) to (e) for one peer, in a process of its own: `python -m bench.peer_work KEY FOLDER`."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

from bench.ours import TEXT
from bench.peers import PEERS


def timed(operation: Callable[[], object], rounds: int) -> float:
    """Median seconds."""
    spent: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        operation()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def measure(key: str, folder: str) -> dict[str, object]:
    """What the table shows of a peer; times in seconds."""
    peer = PEERS[key]()
    peer.open(f"{folder}/{key}")
    appends = min(2000, peer.max_appends or 2000)
    result: dict[str, object] = {"name": peer.name, "version": peer.version, "syncs": peer.syncs}
    result["appends"] = appends
    result["a"] = timed(lambda: peer.append("short", "user", TEXT), appends)
    peer.append_many("long", [("user", TEXT)] * 10_000)
    result["b"] = timed(lambda: peer.append("long", "user", TEXT), 50)
    result["c"] = timed(lambda: peer.last("long", 20), 5)
    result["d"] = timed(lambda: peer.load("long"), 3)
    peer.close()
    result["e"] = measure_list(key, f"{folder}/{key}-list")
    return result


def measure_list(key: str, folder: str) -> float | None:
    """(e) in a folder of its own; None for a peer that lists nothing."""
    seeded = PEERS[key]()
    seeded.open(folder)
    if seeded.newest(1) is None:
        return None
    seeded.create_sessions(5000)
    seeded.close()

    def open_and_list() -> None:
        peer = PEERS[key]()
        peer.open(folder)
        peer.newest(50)
        peer.close()

    open_and_list()
    return timed(open_and_list, 5)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
