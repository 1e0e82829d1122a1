"""(r) what the status line of Claude Code takes, with 19,200 answers of two months in the catalog.

python -m bench.statusline FOLDER [ROUNDS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from bench.lists import CORTEXT
from bench.starts import clean_environment
from bench.timing import in_turns

SESSION = "11111111-2222-4333-8444-555555555555"
DAYS = 60
MINUTES = range(16 * 60, 0, -3)
"""The minutes before the end of each day, of 16 hours, at which there is an answer."""


def figures(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds of a bare start and of the status line, taken in turns."""
    path = _write_transcript(Path(folder))
    environment = {**clean_environment(), "HOME": folder, "CI": "1"}
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        environment.pop(name, None)

    def run(*command: str, given: bytes = b"") -> bytes:
        return subprocess.run(
            command, env=environment, input=given, check=True, stdout=subprocess.PIPE
        ).stdout

    run(CORTEXT, "usage", "--json")
    payload = {
        "session_id": SESSION,
        "transcript_path": path,
        "cost": {"total_cost_usd": 1.5},
        "context_window": {"context_window_size": 200_000, "current_usage": {"input_tokens": 9}},
    }
    given = json.dumps(payload).encode()
    shown = run(CORTEXT, "statusline", given=given)
    if b"today" not in shown or b"block" not in shown:
        raise SystemExit(f"the status line has no usage: {shown!r}")
    return in_turns(
        {
            "bare": lambda: run(sys.executable, "-c", "pass"),
            "statusline": lambda: run(CORTEXT, "statusline", given=given),
        },
        rounds,
    )


def _write_transcript(folder: Path) -> str:
    path = folder / f".claude/projects/-work/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    now = datetime.now(UTC)
    with path.open("w", encoding="utf-8") as file:
        for day, minutes in product(range(DAYS - 1, -1, -1), MINUTES):
            usage = {"input_tokens": 10, "output_tokens": 500, "cache_read_input_tokens": 40_000}
            message = {"id": f"msg_{day}_{minutes}", "model": "claude-sonnet-4-5", "usage": usage}
            at = (now - timedelta(days=day, minutes=minutes)).isoformat()
            line = {"type": "assistant", "uuid": message["id"], "timestamp": at, "message": message}
            file.write(json.dumps(line) + "\n")
    return str(path)


def in_child(folder: str, rounds: int) -> dict[str, float]:
    """The figures, of a process that has done nothing else."""
    os.makedirs(folder)
    command = [sys.executable, "-m", "bench.statusline", folder, str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)))
