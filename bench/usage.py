"""(r) usage: the first reading of all transcripts, and a later `cortext usage --by day`.

python -m bench.usage ROUNDS
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from bench import transcripts
from bench.starts import clean_environment
from bench.timing import in_turns
from cortext import paths
from cortext.features.usage.usage_report import gather_usage
from cortext.tools.claude.records import TranscriptLine
from cortext.tools.codex.records import RolloutLine
from cortext.tools.gemini.records import GeminiRecord
from cortext.tools.jsonl_transcripts import JsonLines, read_blocks
from cortext.tools.registry import open_bridge

COUNT, BYTES = 300, 350_000_000
CORTEXT = os.path.join(os.path.dirname(sys.executable), "cortext")
_LINES = {"claude": TranscriptLine, "codex": RolloutLine, "gemini": GeminiRecord}
"""The type of the lines of each tool whose transcripts are made (see `transcripts.make`)."""


def decode() -> None:
    """Decode every line of all transcripts as its type, and nothing more."""
    for tool, type in _LINES.items():
        for source in open_bridge(tool, None).sources():
            for _ in JsonLines(type).read(read_blocks(source.path)):
                pass


def first_run(rounds: int) -> dict[str, float]:
    """Return the times of a first reading of all usage, and of decoding the same files."""

    def read() -> None:
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(paths.catalog() + suffix):
                os.remove(paths.catalog() + suffix)
        if not gather_usage(paths.workspace_root()).total.answers:
            raise SystemExit("no usage was found")

    return in_turns({"decode": decode, "first": read}, rounds)


def later_runs(rounds: int) -> dict[str, float]:
    """Return the times of `cortext usage --by day` with nothing new, and of a bare start."""
    env = clean_environment()

    def run(*command: str) -> None:
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)

    later = {"later": lambda: run(CORTEXT, "usage", "--by", "day")}
    later["later"]()
    return in_turns({"bare": lambda: run(sys.executable, "-c", "pass"), **later}, rounds)


def in_child(folder: str, rounds: int, count: int = COUNT, size: int = BYTES) -> dict[str, float]:
    """Measure in a process that has its own HOME, with new transcripts."""
    homes = {
        name: f"{folder}/{name.lower()}"
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    }
    os.makedirs(homes["HOME"])
    transcripts.make(homes["HOME"], count, size)
    env = {**clean_environment(), **homes, "CI": "true", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-m", "bench.usage", str(rounds)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(first_run(3) | later_runs(int(sys.argv[1]))))
