"""(j) reading transcripts: how fast one is decoded, and the memory that it takes; and what
capturing one new turn of a long one takes.

    python -m bench.decoding FOLDER [MEGABYTES]
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from cortext.tools.reader_protocol import TranscriptSource

TOOLS = ("claude", "codex", "gemini", "opencode")
FOLDERS = {"opencode": ".local/share/opencode"}
"""The folders of tools below a home, where they are not their names."""
ROUNDS = 15
SHORT = 200
"""Of results no more is kept, which stubs are made from: what is left is what was said."""


def figures(folder: str, megabytes: int) -> dict[str, float]:
    """MB/s of our own time for each tool, the best of some rounds; MB of memory above what a
    decoding of a small transcript takes."""
    from cortext.tools.registry import open_bridge

    # In a process of its own: its memory would hide ours.
    subprocess.run(
        [sys.executable, "-m", "bench.decoding", folder, str(megabytes), "write"], check=True
    )
    found: dict[str, float] = {}
    sources = {}
    for tool in TOOLS:
        for name in ("small", "large"):
            home = Path(folder, tool, name)
            bridge = open_bridge(tool, str(home / FOLDERS.get(tool, f".{tool}")))
            (sources[tool, name],) = [(bridge, source) for source in bridge.sources()]
    for (_, name), (bridge, source) in sources.items():
        if name == "small":
            bridge.decode(source, longest=SHORT)
    before = _memory()
    large = {tool: one for (tool, name), one in sources.items() if name == "large"}
    for bridge, source in large.values():
        bridge.decode(source, longest=SHORT)
    found["memory"] = _memory() - before
    sizes = {tool: _size(source) for tool, (_, source) in large.items()}
    # In turns: a machine that others use too is slow for seconds on end.
    for _ in range(ROUNDS):
        for tool, (bridge, source) in large.items():
            rate = sizes[tool] / _spent(bridge.decode, source)
            found[tool] = max(rate, found.get(tool, 0.0))
    return found


def write(folder: str, megabytes: int) -> None:
    """A small transcript and a large one of each tool."""
    from bench.transcripts import Words, write_one

    for tool in TOOLS:
        for name, size in (("small", 1), ("large", megabytes)):
            write_one(tool, Path(folder, tool, name), Words(1), size << 20)


def _size(source: TranscriptSource) -> float:
    """MB of a transcript; of a database those of the JSON in its rows."""
    if not source.path.endswith(".db"):
        return os.stat(source.path).st_size / 1e6
    count = "SELECT sum(length(CAST(data AS BLOB))) FROM"
    with closing(sqlite3.connect(f"file:{source.path}?mode=ro", uri=True)) as database:
        sizes = [database.execute(f"{count} {name}").fetchone()[0] for name in ("message", "part")]
    return sum(sizes) / 1e6


def _spent(decode: Callable[[TranscriptSource], object], source: TranscriptSource) -> float:
    start = time.process_time()
    decode(source)
    return time.process_time() - start


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_child(folder: str, megabytes: int) -> dict[str, float]:
    """The figures, of processes that have done nothing else."""
    os.makedirs(folder)
    found: dict[str, float] = {}
    for module, *arguments in (
        ("bench.decoding", folder, str(megabytes)),
        ("bench.capture", "10", "--json"),
    ):
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found |= json.loads(done.stdout)
    return found


if __name__ == "__main__":
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    if sys.argv[3:] == ["write"]:
        write(sys.argv[1], size)
    else:
        print(json.dumps(figures(sys.argv[1], size)))
