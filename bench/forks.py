"""Work in processes that are forked from one which has imported what they need: ten starts of a
library that takes seconds to import would be what a run is about."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Told(NamedTuple):
    """What a process found, or how it failed; both are empty of one that was killed."""

    found: Any
    error: str = ""


def in_child(work: Callable[[], Any], patience: float) -> Told:
    """One, and what it found; it is ended when it takes longer."""
    return in_children([work], patience)[0]


def in_children(works: Sequence[Callable[[], Any]], patience: float) -> list[Told]:
    """Several at once. Each has come as far as to be forked before any of them begins."""
    gate, go = os.pipe()
    children = [_fork(work, gate, go) for work in works]
    os.close(gate)
    os.close(go)
    end = time.monotonic() + patience
    return [_told(pid, answer, end) for pid, answer in children]


def _fork(work: Callable[[], Any], gate: int, go: int) -> tuple[int, int]:
    answer, tell = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(tell)
        return pid, answer
    os.close(go)
    os.read(gate, 1)  # nothing is ever written: it ends when the last of them was forked
    try:
        said = json.dumps(Told(work()))
    except BaseException as error:
        traceback.print_exc()
        words = " ".join(f"{type(error).__name__}: {error}".split())
        said = json.dumps(Told(None, words[:200]))
    with open(tell, "w", encoding="utf-8") as pipe:
        pipe.write(said)
    # A contestant may have threads that never end.
    os._exit(0)


def _told(pid: int, answer: int, end: float) -> Told:
    said = b""
    while True:
        if not select.select([answer], [], [], max(end - time.monotonic(), 0))[0]:
            os.kill(pid, signal.SIGKILL)
            said = json.dumps(Told(None, "it took too long and was ended")).encode()
            break
        piece = os.read(answer, 1 << 16)
        if not piece:
            break
        said += piece
    os.close(answer)
    os.waitpid(pid, 0)
    return Told(*json.loads(said)) if said else Told(None)
