"""Processes that an adapter's tests start: their work is in `child.py` beside the test."""

import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FORK = multiprocessing.get_context("fork")


def start(adapter: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.adapters.{adapter}.child", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def dies(adapter: str, what: str, place: Path) -> None:
    """It does something and is killed in the middle of it, as if the power went."""
    child = start(adapter, what, str(place))
    _, errors = child.communicate(timeout=100)
    assert child.returncode == -signal.SIGKILL, errors


def all_do(work: Callable[..., None], *arguments: tuple[Any, ...]) -> None:
    """Each in a process of its own, at the same time; none fails."""
    # Forked, because to import a framework eight times takes longer than all that is tested.
    children = [FORK.Process(target=work, args=each) for each in arguments]
    for child in children:
        child.start()
    for child in children:
        child.join(100)
    assert [child.exitcode for child in children] == [0] * len(children)
