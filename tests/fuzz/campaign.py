"""Inputs for a decoder, one after the other, and what must hold for each.

No exception but our own, no second of work, no memory beyond twenty times the input, and nothing
written. What fails is made smaller, kept in a file, and told with the seed that makes it again.
"""

import signal
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.mutate import mutated
from tests.fuzz.target import Feed, Target

SECONDS, WAIT = 1.0, 20.0
TIMES = 20
_EVERY = 8
"""Memory is measured of one input in so many: it takes three times as long."""
_SHRINK = 5.0


class Hang(Exception):
    """An input that was still being decoded after a second of the processor's time."""


class Finding(NamedTuple):
    """What went wrong, with the smallest input that was found for it."""

    what: str
    data: bytes


class Result(NamedTuple):
    inputs: int
    seconds: float
    finding: Finding | None


@contextmanager
def _limit() -> Iterator[None]:
    """Time of the processor: other work on the machine does not count. And of the clock, much more
    of it: who waits for a lock or a process takes none of the processor's."""

    def stop(number: int, frame: Any) -> None:
        waited = number == signal.SIGALRM
        raise Hang(f"more than {WAIT if waited else SECONDS:g} s{' of waiting' * waited}")

    clocks = (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, WAIT),
    )
    # A test has an alarm of its own, which goes on afterwards.
    old = [
        (signal.signal(each, stop), signal.setitimer(timer, most)) for each, timer, most in clocks
    ]
    try:
        yield
    finally:
        for (each, timer, _), (handler, left) in zip(clocks, old, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(each, handler)
            signal.setitimer(timer, *left)


def wrong(feed: Feed, data: bytes, *, most: int | None = None) -> str:
    """What is wrong with how an input is decoded; "" if nothing is."""
    try:
        if most is None:
            with _limit():
                feed(data)
            return ""
        peak = _peak(feed, data)
    except Exception as error:
        return f"{type(error).__name__} in {_place(error)}: {error!s:.300}"
    if peak > most + TIMES * len(data):
        return f"{peak:,} bytes of memory for an input of {len(data):,}"
    return ""


def _place(error: Exception) -> str:
    """Where it was raised, as far as that is ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "cortext" in frame.filename] or frames
    return f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"


def _peak(feed: Feed, data: bytes) -> int:
    with tracing(not tracemalloc.is_tracing()):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        feed(data)
        return tracemalloc.get_traced_memory()[1] - before


@contextmanager
def tracing(wanted: bool) -> Iterator[None]:
    """Memory is counted meanwhile. Python may crash where it begins or ends while threads run."""
    if not wanted:
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def run(
    target: Target, folder: Path, seed: int, goes_on: Callable[[int, float], bool], skip: int = 0
) -> Result:
    """Feed inputs for as long as `goes_on` says, given their number and the seconds so far."""
    seeds = [path.read_bytes() for path in target.kept]
    number, start = skip, time.monotonic()
    with tracing(target.threads), target.feeding(folder) as feed:
        for valid in seeds:
            wrong(feed, valid)  # what is imported and cached later is not an input's doing
        if finding := _kept(target, feed):
            return Result(number, time.monotonic() - start, finding)
        while goes_on(number, time.monotonic() - start):
            data = mutated(seeds, seed, number)
            most = target.most if number % _EVERY == _EVERY - 1 else None
            for limit in (None, most) if most else (None,):
                if what := wrong(feed, data, most=limit):
                    small = _smaller(feed, data, what, limit)
                    finding = Finding(
                        f"{target.name}, input {number} of seed {seed}: {what}", small
                    )
                    return Result(number + 1, time.monotonic() - start, finding)
            number += 1
    return Result(number, time.monotonic() - start, None)


def _kept(target: Target, feed: Feed) -> Finding | None:
    """What is wrong with a valid file, or again with an input that once failed."""
    for path in target.kept:
        data = path.read_bytes()
        if what := wrong(feed, data) or wrong(feed, data, most=target.most):
            return Finding(f"{target.name}, {path.parent.name}/{path.name}: {what}", data)
    return None


def _smaller(feed: Feed, data: bytes, what: str, most: int | None) -> bytes:
    """Without all pieces that it fails without, in the same way."""
    kind, end = what.partition(":")[0], time.monotonic() + _SHRINK
    if most is not None:
        return data
    size = len(data) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + size :]
            if wrong(feed, shorter).partition(":")[0] == kind:
                data = shorter
            else:
                at += size
        size //= 2
    return data
