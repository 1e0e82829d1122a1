"""`python -m bench.growth [--quick] [--only WORK]`: what each operation takes as a session, or the
number of sessions, grows; `--draw [FILE]`: page and chart anew from what was measured."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from bench import growth_page
from bench.growth_curves import LARGEST, missed
from bench.starts import clean_environment

RESULTS = os.path.join(os.path.dirname(__file__), "results")
_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
MESSAGES = tuple(size for size in _SIZES if size <= LARGEST["messages"])
SESSIONS = tuple(size for size in _SIZES if size <= LARGEST["sessions"])
QUICK = 10_000
_ROUNDS, _QUICK_ROUNDS = 3, 1


class Work(NamedTuple):
    """What is made once, and measured in every round: names of functions in a module. What only
    waits for the disk is measured more `often`, in each round as often as there are rounds: the
    noise of a disk lasts for seconds."""

    name: str
    module: str
    make: str
    measure: str
    sizes: Sequence[int]
    often: str = ""


WORKS = (
    Work("log", "growth_messages", "make_long_log", "measure_log", MESSAGES, "add_to_log"),
    Work(
        "conversation",
        "growth_messages",
        "make_long_conversation",
        "measure_conversation",
        MESSAGES,
        "add_to_conversation",
    ),
    Work("documents", "growth_sessions", "make_documents", "measure_documents", SESSIONS),
    Work("logs", "growth_sessions", "make_many_logs", "measure_logs", SESSIONS),
    Work(
        "conversations",
        "growth_sessions",
        "make_conversations",
        "measure_conversations",
        SESSIONS,
    ),
)


def measure(works: Sequence[Work], most: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Of each curve and size, what every round measured. Within a round the sizes take turns, so
    that a noisy machine is noisy for all of them."""
    found: dict[str, dict[str, list[float]]] = {}
    for work in works:
        sizes = [size for size in work.sizes if size <= most]
        with tempfile.TemporaryDirectory(prefix="cortext-growth-") as folder:
            for size in sizes:
                _tell(f"{work.name}: making {size:,}")
                _in_child(work, work.make, f"{folder}/{size}", size)
            # What was made is not to be written to the disk while something is measured.
            os.sync()
            for number, function, size in _turns(work, sizes, rounds):
                _tell(f"{work.name}: {function}, round {number + 1} of {rounds}, {size:,}")
                figures = _in_child(work, function, f"{folder}/{size}", size, number)
                for key, spent in figures.items():
                    found.setdefault(key, {}).setdefault(str(size), []).append(spent)
    return found


def _turns(work: Work, sizes: Sequence[int], rounds: int) -> Iterator[tuple[int, str, int]]:
    for number in range(rounds):
        functions = [*([work.often] * rounds if work.often else ()), work.measure]
        yield from ((number, function, size) for function in functions for size in sizes)


def _in_child(work: Work, function: str, folder: str, *numbers: int) -> dict[str, float]:
    """Call a function of a work in a process of its own, of a person who has nothing else."""
    homes = {"HOME": f"{folder}/home", "AURORA_HOME": f"{folder}/home/aurora"}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        homes[name] = f"{folder}/home/{name.lower()}"
    os.makedirs(homes["HOME"], mode=0o700, exist_ok=True)
    # Nothing goes on behind what is measured.
    environment = {**clean_environment(), **homes, "CI": "true", "TZ": "UTC"}
    environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    call = [work.module, function, folder, *map(str, numbers)]
    command = [sys.executable, "-m", "bench.growth", "--call", *call]
    done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{work.name}: {function} failed with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def _call(module: str, function: str, folder: str, *numbers: str) -> None:
    from importlib import import_module

    os.umask(0o077)
    work: Callable[..., Any] = getattr(import_module(f"bench.{module}"), function)
    print(json.dumps(work(folder, *map(int, numbers)) or {}))


def _tell(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


def about(rounds: int) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cpus": os.cpu_count(),
        "rounds": rounds,
    }


def _draw(path: str) -> int:
    """Page and chart from a file of figures, which becomes the one that they are made from."""
    if path and os.path.abspath(path) != growth_page.FIGURES:
        shutil.copyfile(path, growth_page.FIGURES)
    growth_page.write()
    return 0


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--call"]:
        _call(*arguments[1:])
        return 0
    if arguments[:1] == ["--draw"]:
        return _draw("".join(arguments[1:2]))
    quick, only = "--quick" in arguments, ""
    if "--only" in arguments:
        only = arguments[arguments.index("--only") + 1]
    works = [work for work in WORKS if only in ("", work.name)]
    if not works:
        raise SystemExit(f"--only is one of {', '.join(work.name for work in WORKS)}")
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    began = time.monotonic()
    seconds = measure(works, QUICK if quick else MESSAGES[-1], rounds)
    result = {**about(rounds), "seconds": seconds}
    print(growth_page.text_table(seconds))
    os.makedirs(RESULTS, exist_ok=True)
    path = os.path.join(RESULTS, time.strftime("growth-%Y%m%d-%H%M%S.json"))
    growth_page.save(path, result)
    # What is not all of it must not take the place of what is.
    if not (quick or only):
        _draw(path)
    grown = missed(seconds)
    for curve in grown:
        print(f"MISSED: {curve.name} grows")
    print(f"{time.monotonic() - began:.0f} s; written to {os.path.relpath(path)}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
