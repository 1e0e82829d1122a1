"""What one contestant does, a function for each process: what it returns are the cells of the
table, why some are empty, and over how many rounds a median is."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from bench import corpus
from bench.floors import RawAppender
from bench.peer_bounds import EACH, TORN, Bounds
from bench.peer_places import seed, size
from bench.peers import Peer

TEXT = "x" * 500
Parts = dict[str, dict[str, Any]]


def timed(operation: Callable[[], object], rounds: int, seconds: float) -> tuple[float, int]:
    """Median seconds of so many, or of as many as there is time for; and of how many."""
    spent: list[float] = []
    end = time.perf_counter() + seconds
    while len(spent) < rounds and (not spent or time.perf_counter() < end):
        start = time.perf_counter()
        operation()
        spent.append(time.perf_counter() - start)
    return median(spent), len(spent)


def beside_floor(
    operation: Callable[[], object], folder: str, rounds: int, seconds: float
) -> tuple[float, int, float]:
    """As `timed`, and how many times as long as a raw append it took: these are done in turns, so
    that a disk which others keep busy is busy for both."""
    raw = RawAppender(f"{folder}.raw")
    line, spent, floor = b"x" * 640 + b"\n", list[float](), list[float]()
    end = time.perf_counter() + seconds
    while len(spent) < rounds and (not spent or time.perf_counter() < end):
        start = time.perf_counter()
        operation()
        between = time.perf_counter()
        raw.append(line)
        spent.append(between - start)
        floor.append(time.perf_counter() - between)
    raw.close()
    return median(spent), len(spent), median(spent) / median(floor)


class Work:
    """All that one contestant does, and what came of it."""

    def __init__(self, make: type[Peer], folder: str, bounds: Bounds) -> None:
        self.make, self.folder, self.bounds = make, folder, bounds
        self.cells: dict[str, Any] = {}
        self.why: dict[str, str] = {}
        self.rounds: dict[str, int] = {}
        self.floors: dict[str, float] = {}

    @property
    def parts(self) -> Parts:
        return {"cells": self.cells, "why": self.why, "rounds": self.rounds, "floors": self.floors}

    def time(self, row: str, operation: Callable[[], object], rounds: int) -> None:
        self.cells[row], self.rounds[row] = timed(operation, rounds, self.bounds.measuring)

    def time_append(self, row: str, peer: Peer, session_id: str, rounds: int) -> None:
        self.cells[row], self.rounds[row], self.floors[row] = beside_floor(
            lambda: peer.append(session_id, "user", TEXT),
            f"{self.folder}/{session_id}",
            rounds,
            self.bounds.measuring,
        )

    def short(self) -> None:
        """Single appends to a new conversation, and what they take on the disk."""
        if self.make.no_append:
            rows = ("append", "append at long", "append at longer", "disk")
            self.why.update(dict.fromkeys(rows, self.make.no_append))
            return
        peer = self.opened("short")
        peer.append("short", "user", TEXT)
        # A server has much before there is a message; a file that is open has what goes at its end.
        before = 0 if peer.place == "files" else size(peer, f"{self.folder}/short")
        self.time_append("append", peer, "short", self.bounds.appends)
        peer.close()
        done = self.rounds["append"]
        self.cells["disk"] = (size(peer, f"{self.folder}/short") - before) / done

    def long(self) -> None:
        """Appends to long conversations, their end, and all of one."""
        reached = {"long": 0, "longer": 0}
        seed(self.make, f"{self.folder}/long", lambda peer: self.fill(peer, reached))
        self.reads(reached["long"])
        for name in reached:
            self.appends(name, reached[name])

    def fill(self, peer: Peer, reached: dict[str, int]) -> None:
        """Both conversations, as far as there is time. The second is not begun by one who would
        need more than twice that."""
        spent = 0.0
        for name, count in (("long", self.bounds.long), ("longer", self.bounds.longer)):
            if spent * count / self.bounds.long > 2 * self.bounds.seeding:
                self.why[f"append at {name}"] = (
                    f"not reached: the first {self.bounds.long:,} messages took {spent:.0f} s"
                )
                return
            began, spent = time.monotonic(), 0.0
            while reached[name] < count and spent < self.bounds.seeding:
                chunk = min(peer.chunk, count - reached[name])
                if type(peer).append_many is Peer.append_many:
                    chunk = min(chunk, 500)
                peer.append_many(name, [("user", TEXT)] * chunk)
                reached[name] += chunk
                spent = time.monotonic() - began

    def reads(self, reached: int) -> None:
        if reached < self.bounds.long:
            why = f"{reached:,} messages in {self.bounds.seeding:g} s"
            self.why.update({"last": why, "load": why})
            return
        peer = self.opened("long")
        found = len(peer.last("long", 20))
        if found != 20:
            raise SystemExit(f"the last 20 are {found}")
        self.time("last", lambda: peer.last("long", 20), 20)
        peer.close()
        spent = list(self.loads())
        self.cells["load"], self.rounds["load"] = median(spent), len(spent)

    def loads(self) -> Iterator[float]:
        """Each by a store that was just opened: some keep what they have read."""
        end = time.perf_counter() + self.bounds.measuring
        for _ in range(self.bounds.loads):
            peer = self.opened("long")
            start = time.perf_counter()
            found = len(peer.load("long"))
            yield time.perf_counter() - start
            peer.close()
            if found < self.bounds.long:
                raise SystemExit(f"{found} of {self.bounds.long} messages were loaded")
            if time.perf_counter() > end:
                return

    def appends(self, name: str, reached: int) -> None:
        row = f"append at {name}"
        if self.make.no_append:
            self.why[row] = self.make.no_append
            return
        if reached < getattr(self.bounds, name):
            why = f"not reached: {reached:,} messages in {self.bounds.seeding:g} s"
            self.why.setdefault(row, why)
            return
        peer = self.opened("long")
        peer.append(name, "user", TEXT)
        self.time_append(row, peer, name, self.bounds.later)
        peer.close()

    def listed(self) -> None:
        """Open the store and list the newest 50 of very many."""
        reached = 0

        def fill(peer: Peer) -> None:
            nonlocal reached
            end = time.monotonic() + self.bounds.seeding
            while reached < self.bounds.sessions and time.monotonic() < end:
                peer.create_session(reached)
                reached += 1

        if self.make.newest is Peer.newest:
            self.why["list"] = self.make.no_list
            return
        seed(self.make, f"{self.folder}/list", fill)
        if reached < self.bounds.sessions:
            self.why["list"] = f"of {reached:,}: no more in {self.bounds.seeding:g} s"
        found = self.open_and_list()
        if found != 50:
            raise SystemExit(f"{found} are listed, not 50")
        self.open_and_list()
        self.time("list", self.open_and_list, 10)

    def open_and_list(self) -> int:
        peer = self.opened("list")
        found = len(peer.newest(50) or ())
        peer.close()
        return found

    def searched(self) -> None:
        """Rare words of messages that are there, the newest 20."""
        if self.make.find is Peer.find:
            self.why["search"] = self.make.no_search
            return
        texts = list(corpus.texts(1, self.bounds.texts, corpus.vocabulary()))
        reached = 0

        def fill(peer: Peer) -> None:
            nonlocal reached
            end = time.monotonic() + self.bounds.seeding
            for number, text in enumerate(texts):
                if time.monotonic() > end:
                    break
                peer.append(f"texts-{number // EACH:05}", "user", text)
                reached = number + 1

        seed(self.make, f"{self.folder}/search", fill)
        if reached < len(texts):
            self.why["search"] = f"in {reached:,}: no more in {self.bounds.seeding:g} s"
        peer = self.opened("search")
        words = iter([text.split()[3] for text in texts[:reached:7]] * 2)
        if not peer.find(next(words)):
            raise SystemExit("a word that was said is not found")
        self.time("search", lambda: peer.find(next(words)), min(20, reached // 7))
        peer.close()

    def opened(self, name: str) -> Peer:
        peer = self.make()
        peer.open(f"{self.folder}/{name}")
        return peer


def begin(make: type[Peer], folder: str) -> None:
    """Append, and die without a word, as a machine that lost its power."""
    peer = make()
    peer.open(folder)
    if peer.no_append:
        peer.append_many("torn", [("user", f"{number} {TEXT}") for number in range(TORN)])
    else:
        for number in range(TORN):
            peer.append("torn", "user", f"{number} {TEXT}")
    os.kill(os.getpid(), signal.SIGKILL)


def count(make: type[Peer], folder: str) -> int:
    """How many of them another process reads."""
    peer = make()
    peer.open(folder)
    return len(peer.recovered("torn"))


def memory(make: type[Peer], folder: str, bounds: Bounds) -> Parts:
    """Peak MB of a process that opens the store and loads the long conversation. It was forked from
    one that has done nothing but import it."""
    peer = make()
    peer.open(f"{folder}/long")
    if len(peer.load("long")) < bounds.long:
        return {"why": {"memory": "the long conversation was not reached"}}
    with open("/proc/self/status", encoding="utf-8") as file:
        high = next(line for line in file if line.startswith("VmHWM")).split()[1]
    return {"cells": {"memory": int(high) / 1024}}


def _step(name: str) -> Callable[[type[Peer], str, Bounds], Parts]:
    def run(make: type[Peer], folder: str, bounds: Bounds) -> Parts:
        work = Work(make, folder, bounds)
        getattr(work, name)()
        return work.parts

    return run


STEPS: dict[str, Callable[[type[Peer], str, Bounds], Parts]] = {
    **{name: _step(name) for name in ("short", "long", "listed", "searched")},
    "memory": memory,
}
