"""(g) what starting costs: time beside the bare interpreter, and memory."""

from __future__ import annotations

import os
import subprocess
import sys

from bench.timing import in_turns

OURS = "from cortext import SessionManager"
_HIGH_WATER = (
    "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
)


def clean_environment() -> dict[str, str]:
    """As a user has it: compiled modules are kept from one start to the next."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def times(rounds: int = 40) -> dict[str, float]:
    """Median seconds of a start, taken in turns."""
    codes = {"bare": "pass", "import cortext": "import cortext", OURS: OURS}
    environment = clean_environment()

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    for code in codes.values():
        start(code)
    return in_turns({name: lambda code=code: start(code) for name, code in codes.items()}, rounds)


def memory(code: str, python: str = sys.executable) -> float:
    """Peak MB of a process that does this."""
    done = subprocess.run(
        [python, "-c", f"{code}\n{_HIGH_WATER}"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**clean_environment(), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    )
    return int(done.stdout.split()[-1]) / 1024


def seconds(code: str, python: str, rounds: int = 3) -> float:
    """Median seconds of starting a process that does this."""
    environment = {**clean_environment(), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = [python, "-c", code]
    operation = {"it": lambda: subprocess.run(command, check=True, env=environment)}
    operation["it"]()  # compiles what was never imported
    return in_turns(operation, rounds)["it"]
