"""Eight processes do anything to one home, one of them is killed every second, and what each was
told that it had done is there at the end: `python -m tests.faults.soak FOLDER SECONDS`.

The parent alone knows what was promised: the workers tell it by a pipe.
"""

import gc
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store
from tests.faults.campaign import Campaign
from tests.faults.home import Home, said
from tests.faults.stored_texts import Kept, kept_in
from tests.faults.worker import FIRST, SHARED, Worker

WORKERS = 8
_SECOND = 1.0


class Promises:
    """What the workers were told. What was begun and never acknowledged may be there or not."""

    def __init__(self) -> None:
        self.kept: dict[str, list[str]] = defaultdict(list)
        self.titles: dict[str, list[str]] = defaultdict(list)
        self.gone: set[str] = set()
        self.deleted: set[str] = set()
        self.verbs: Counter[str] = Counter()
        self.bad: list[str] = []

    def take(self, line: str) -> None:
        """One line of a worker."""
        word, *rest = json.loads(line)
        if word == "bad":
            self.bad.append(rest[0])
            return
        verb, name, text = rest
        if word == "ack":
            self.verbs[verb] += 1
        if verb in ("append", "serve", "sync") and word == "ack":
            self.kept[name].append(text)
        elif verb == "title":
            # An acknowledged one ends those before it.
            before = [] if word == "ack" else self.titles[name] or [FIRST]
            self.titles[name] = [*before, text]
        elif verb == "delete":
            self.gone.add(name)
            if word == "ack":
                self.deleted.add(name)
        elif verb == "restore":
            self.gone.discard(name)

    def broken(self, home: Home, kept: Kept) -> Iterator[str]:
        """What was promised and is not so."""
        yield from kept.damages
        for name, texts in self.kept.items():
            if name in self.gone and name not in kept.texts:
                continue
            there = Counter(kept.texts.get(name, ()))
            for text in texts:
                if there[text] != 1:
                    yield f"{name}: {text} is there {there[text]} times"
        yield from (f"{name} was deleted, and is back" for name in self.deleted & {*kept.texts})
        yield from self._broken_titles(home)

    def _broken_titles(self, home: Home) -> Iterator[str]:
        for name, titles in self.titles.items():
            kind, _, id = name.partition("/")
            if name in self.gone or not titles:
                continue
            store: Any = open_session_store(home.stores[kind])
            if (now := store.load(id).title) not in titles:
                yield f"{name} is called {now!r}, not {titles}"
            store.close()


class Soaked(NamedTuple):
    """How often what was done, how many were killed, and what did not hold."""

    verbs: dict[str, int]
    promised: int
    kills: int
    violations: list[str]


def soak(folder: Path, seconds: float) -> Soaked:
    """Do it, and look at the end at what is there; and again when doctor has been at it."""
    campaign = Campaign(folder)
    home = campaign.home
    home.fresh(Home(folder / "prepared"))
    for kind in ("document", "spawned", "service"):
        open_session_store(home.stores[kind]).save(Session(SHARED, messages=said("first", 0)))
    promises, kills = _run(home, seconds)
    violations = [*promises.bad, *promises.broken(home, kept_in(home))]
    violations += [f"after: {text}" for text in kept_in(home).lost_of(campaign.before)]
    told = campaign.mend()
    if told.code:
        violations.append(f"doctor ends with {told.code}: {told.out} {told.err}")
    violations += [f"after doctor: {t}" for t in promises.broken(home, kept_in(home))]
    promised = sum(map(len, promises.kept.values()))
    return Soaked(dict(promises.verbs), promised, kills, violations)


def _run(home: Home, seconds: float) -> tuple[Promises, int]:
    promises, ours = Promises(), os.pipe()
    poll, left = select.poll(), b""
    poll.register(ours[0], select.POLLIN)
    pick, number = random.Random(1), WORKERS
    gc.freeze()
    running = [_start(home, each, ours[1]) for each in range(WORKERS)]
    kills, end = 0, time.monotonic() + seconds
    next_kill = time.monotonic() + _SECOND
    while (now := time.monotonic()) < end:
        if poll.poll(max(next_kill - now, 0) * 1000):
            *lines, left = (left + os.read(ours[0], 1 << 16)).split(b"\n")
            for line in lines:
                promises.take(line.decode())
        if time.monotonic() >= next_kill:
            at = pick.randrange(WORKERS)
            _end(running[at])
            running[at] = _start(home, number, ours[1])
            number, kills, next_kill = number + 1, kills + 1, next_kill + _SECOND
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    for pid in running:
        os.waitpid(pid, 0)
    os.close(ours[1])
    while data := os.read(ours[0], 1 << 16):
        left += data
    os.close(ours[0])
    for line in left.split(b"\n"):
        if line:
            promises.take(line.decode())
    return promises, kills


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _start(home: Home, number: int, told: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(home.work)
            Worker(home, number, told).run()
        finally:
            os._exit(1)
    return pid


def main(folder: str, seconds: str) -> None:
    print(json.dumps(soak(Path(folder), float(seconds))._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
