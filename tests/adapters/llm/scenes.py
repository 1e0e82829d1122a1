"""What the tests and the processes that they start have in common."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import llm

from tests.adapters.llm.echo import Echo

ROOT = Path(__file__).parents[3]


def dumped(messages: list[Any]) -> list[str]:
    return [json.dumps(message.to_dict()) for message in messages]


def sent(text: str) -> list[Any]:
    """The messages that the echo model was sent, as it says when asked to recall."""
    return json.loads(text)


def look_up(key: str) -> str:
    """Look something up."""
    return f"found {key}"


def crash(key: str) -> str:
    """The power goes."""
    os.kill(os.getpid(), signal.SIGKILL)
    return key


def pay(amount: int) -> str:
    """Pay, if somebody has said yes."""
    if "APPROVED" not in os.environ:
        raise llm.PauseChain("may I?")
    return f"paid {amount}"


def model() -> Echo:
    return Echo()


def program(
    name: str, *arguments: str, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """A real program of this environment: llm, or cortext."""
    folder = Path.home() / "work"
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [str(Path(sys.executable).with_name(name)), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False, input=text or "",
    )  # fmt: skip


def ok(name: str, *arguments: str, text: str | None = None) -> str:
    """What a program prints that has to succeed."""
    done = program(name, *arguments, text=text)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout.strip()
