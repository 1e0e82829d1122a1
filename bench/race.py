"""(f) processes append to one session at once: what was acknowledged, and what is there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

PROCESSES, EACH = 8, 200
TEXT = "x" * 500
SESSION = "race"


class Race(NamedTuple):
    """How a race went."""

    acknowledged: int
    present: int
    errors: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.acknowledged / self.seconds


def run(
    kind: str,
    folder: str,
    processes: int = PROCESSES,
    each: int = EACH,
) -> Race:
    """Start the writers, let them go at once, and count."""
    os.makedirs(folder, exist_ok=True)
    command = [sys.executable, "-m", "bench.race"]
    subprocess.run([*command, "prepare", kind, folder], check=True)
    writers = [
        subprocess.Popen(
            [*command, "write", kind, folder, str(each), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for number in range(processes)
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    start = time.perf_counter()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    answers = [writer.communicate()[0].split() for writer in writers]
    seconds = time.perf_counter() - start
    acknowledged = sum(int(answer[0]) for answer in answers if answer)
    count = subprocess.run(
        [*command, "present", kind, folder], check=True, stdout=subprocess.PIPE, text=True
    )
    present = int(count.stdout.split()[-1])
    return Race(acknowledged, present, processes * each - acknowledged, seconds)


def write(kind: str, folder: str, each: int, number: str) -> int:
    """One writer: says that it is ready, waits for the word, and appends."""
    append = _open(kind, folder)
    print("ready", flush=True)
    sys.stdin.readline()
    acknowledged = 0
    for turn in range(each):
        try:
            append(f"{number}-{turn}")
            acknowledged += 1
        except Exception as error:
            print(f"{type(error).__name__}: {error!s:.100}", file=sys.stderr)
    return acknowledged


def _prepare(kind: str, folder: str) -> None:
    """The session is there before anybody writes to it."""
    if kind == "log":
        from cortext import Session, open_session_store

        open_session_store(f"log:{folder}").save(Session(SESSION))


def _open(kind: str, folder: str) -> Callable[[str], object]:
    if kind == "log":
        from cortext import SessionMessage, open_session_store

        store = open_session_store(f"log:{folder}")
        return lambda id: store.append(SESSION, SessionMessage("user", TEXT, id=id))
    from bench.floors import RawAppender

    raw = RawAppender(f"{folder}/raw.jsonl")
    return lambda id: raw.append(b"x" * 600 + b"\n")


def _present(kind: str, folder: str) -> int:
    if kind == "log":
        from cortext import open_session_store

        messages = open_session_store(f"log:{folder}").load(SESSION).messages
        return len({message.id for message in messages})
    with open(f"{folder}/raw.jsonl", "rb") as file:
        return file.read().count(b"\n")


if __name__ == "__main__":
    job, *rest = sys.argv[1:]
    if job == "prepare":
        _prepare(*rest)
    elif job == "present":
        print(_present(*rest))
    else:
        print(write(rest[0], rest[1], int(rest[2]), rest[3]))
