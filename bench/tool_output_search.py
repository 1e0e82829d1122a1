"""(q) search in tool output: lines from its middle, the index, its first build, and the scan.

python -m bench.tool_output_search HOME ROUNDS BYTES
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from bench import tool_output
from bench.starts import clean_environment
from bench.timing import in_turns
from bench.tool_output import LiteralLine
from cortext import paths
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.listing.session_of_row import read_all
from cortext.features.search.search_results import Finder, SearchRequest

CORTEXT = os.path.join(os.path.dirname(sys.executable), "cortext")
_INDEXED_WORDS = ("deprecated", "login header", "parser faster")
"""Queries that the index answers without a scan."""


def build(size: int) -> dict[str, float]:
    """Return the times of the first build and of a decoding of all transcripts, and the size."""
    ConversationList(paths.workspace_root(), everywhere=True).list(patience=None)
    finder = Finder()
    began = time.perf_counter()
    found = finder.refresh(patience=None)
    built = time.perf_counter() - began
    if found.left:
        raise SystemExit(f"the index was not built: {found.why}")
    decode = in_turns({"decode": lambda: [read_all(row) for row in finder.rows]}, 3)["decode"]
    return {"build": built, "decode": decode, "index": os.path.getsize(paths.words()) / size}


def scan(lines: Sequence[LiteralLine]) -> dict[str, float]:
    """Return how many lines are found, and the times of a search and of reading all files."""
    finder, found = Finder(), 0
    files = [row.path for row in finder.rows]
    spent: list[float] = []
    reading: list[float] = []
    for line in lines:
        began = time.perf_counter()
        _read(files)
        read = time.perf_counter()
        groups = finder.answer(SearchRequest(line.text)).groups
        spent.append(time.perf_counter() - read)
        reading.append(read - began)
        found += any(group.row.id == line.session for group in groups)
    ratios = [one / floor for one, floor in zip(spent, reading, strict=True)]
    return {
        "found": found,
        "read": statistics.median(reading),
        "scan": statistics.median(spent),
        "scan / read": statistics.median(ratios),
    }


def _read(files: Sequence[str]) -> None:
    for path in files:
        with open(path, "rb") as file:
            file.read()


def end_to_end(rounds: int) -> dict[str, float]:
    """Return the times of `cortext search` without a scan, and of a bare start, in turns."""
    env = clean_environment()

    def run(*command: str) -> None:
        null = subprocess.DEVNULL
        subprocess.run(command, env=env, check=False, stdout=null, stderr=null)

    left = iter(_INDEXED_WORDS * (rounds + 1))
    search = {"search": lambda: run(CORTEXT, "search", *next(left).split())}
    search["search"]()
    return in_turns({"bare": lambda: run(sys.executable, "-c", "pass"), **search}, rounds)


def in_child(folder: str, rounds: int, size: int = tool_output.BYTES) -> dict[str, float]:
    """Measure in processes that have their own HOME. One writes the transcripts."""
    homes = {
        name: f"{folder}/{name.lower()}"
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    }
    os.makedirs(homes["HOME"])
    env = {**clean_environment(), **homes, "CI": "true", "PYTHONPATH": os.getcwd()}
    given = [homes["HOME"], str(rounds), str(size)]
    command = [sys.executable, "-m", "bench.tool_output_search", *given]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    made = tool_output.make(sys.argv[1], int(sys.argv[3]))
    figures = build(made.size) | scan(made.lines) | end_to_end(int(sys.argv[2]))
    print(json.dumps(figures))
