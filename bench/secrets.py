"""(o) looking for secrets: how much text is looked through in a second.

    python -m bench.secrets [MEGABYTES]

A transcript of Claude Code as its bytes stand in the file, and the source of what is installed.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path

from bench.transcripts import Words, claude
from cortext.model.secrets.detector import find_secrets

ROUNDS = 5
ID = "11111111-2222-4333-8444-555555555555"


def figures(megabytes: int = 10) -> dict[str, float]:
    """MB/s of our own time for each kind of text, the best of some rounds."""
    size = megabytes << 20
    words = Words(1)
    texts = {
        "transcript": b"".join(claude(words, ID, size))[:size].decode("utf-8", "replace"),
        "source": _source(size),
    }
    return {name: max(_rate(text) for _ in range(ROUNDS)) for name, text in texts.items()}


def _source(size: int) -> str:
    found, left = list[str](), size
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py")):
        found.append(path.read_text(encoding="utf-8", errors="replace")[:left])
        left -= len(found[-1])
        if left <= 0:
            break
    return "".join(found)


def _rate(text: str) -> float:
    start = time.process_time()
    find_secrets(text)
    return len(text) / (time.process_time() - start) / 1e6


if __name__ == "__main__":
    for name, rate in figures(int(sys.argv[1]) if len(sys.argv) > 1 else 10).items():
        print(f"{name:10} {rate:6.1f} MB/s")
