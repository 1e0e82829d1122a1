"""(i) the archive: how small it is, what the first sync costs, and what one costs that finds
nothing new."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

from bench.lists import CORTEXT
from bench.starts import clean_environment
from bench.timing import in_turns

COUNT = 300
BYTES = 350_000_000


def figures(folder: str, rounds: int, count: int, total: int) -> dict[str, float]:
    """Median seconds, and sizes in MB. The first sync and packing the same bytes with zlib alone
    are taken in turns, twice; the sync with nothing new and a bare start as often as said."""
    # In a process of its own: a child counts the memory of its parent as its own.
    made = int(_python("bench.transcripts", folder, str(count), str(total)))
    environment = _environment(folder)
    archive, high = f"{folder}/data/cortext", list[float]()

    def first() -> None:
        shutil.rmtree(archive, ignore_errors=True)
        with subprocess.Popen([CORTEXT, "sync", "--quiet"], env=environment) as child:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"cortext sync failed with {child.returncode}")
        high.append(used.ru_maxrss / 1024)

    spent = in_turns({"raw": lambda: _python("bench.archive", "pack", folder), "first": first}, 2)
    spent |= in_turns(
        {
            "bare": _run(sys.executable, "-c", "pass", env=environment),
            "again": _run(CORTEXT, "sync", env=environment),
        },
        rounds,
    )
    kept = sum(path.stat().st_size for path in Path(archive).rglob("*") if path.is_file())
    return {**spent, "sources": made / 1e6, "archive": kept / 1e6, "memory": max(high)}


def _environment(folder: str) -> dict[str, str]:
    left_out = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB", "CI")
    kept = {name: value for name, value in clean_environment().items() if name not in left_out}
    names = {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "c", "XDG_CACHE_HOME": "cache"}
    places = {name: f"{folder}/{value}" for name, value in names.items()}
    return {**kept, "HOME": folder, **places}


def _run(*command: str, env: dict[str, str]) -> Callable[[], object]:
    return lambda: subprocess.run(
        command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _python(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pack(folder: str) -> None:
    """The floor: every file read and packed, and nothing written."""
    for path in Path(folder).rglob("*.jsonl"):
        packer = zlib.compressobj(6)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                packer.compress(block)


def in_child(folder: str, rounds: int, count: int = COUNT, total: int = BYTES) -> dict[str, float]:
    """The figures, of a process of its own, whose children are these commands and no others."""
    os.makedirs(folder)
    return json.loads(_python("bench.archive", folder, *map(str, (rounds, count, total))))


if __name__ == "__main__":
    if sys.argv[1] == "pack":
        pack(sys.argv[2])
    else:
        print(json.dumps(figures(sys.argv[1], *map(int, sys.argv[2:5]))))
