"""(h) what a person waits for: the command line in a workspace of 5,000 conversations, and in
one where AI tools keep 300 transcripts."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from bench import transcripts
from bench.starts import clean_environment
from bench.timing import in_turns
from cortext import Session, SessionMessage
from cortext.formats.folder import FOLDER, encode_head
from cortext.formats.line_formats import encode_records

CORTEXT = os.path.join(os.path.dirname(sys.executable), "cortext")
COUNT = 5_000
LONG = 10_000
TRANSCRIPTS = 300
TRANSCRIPT_BYTES = 350_000_000


def make_workspace(root: str, count: int = COUNT) -> None:
    """Conversations of four messages over most of a year, and one of 10,000. Written plainly:
    that each is synced is what the other benches are about."""
    began = datetime.now(UTC) - timedelta(hours=1.5 * count)
    for number in range(count):
        _write(root, _session(number, began + timedelta(hours=1.5 * number), 4))
    _write(root, _session(count, began, LONG))


def _session(number: int, when: datetime, messages: int) -> Session:
    return Session(
        f"{number % 16 + 1:03}-brainstorm-topic-{number}",
        title=f"Topic {number} about words and things",
        kind="brainstorm",
        status="paused",
        created_at=when,
        updated_at=when + timedelta(minutes=messages % 60),
        command="/workspace.brainstorm",
        summary=f"We compared {number} with {number * 7 % 100} and leaned to the second",
        messages=[
            SessionMessage(
                "assistant" if n % 2 else "user", f"message {n}: " + "words " * 60, timestamp=when
            )
            for n in range(messages)
        ],
    )


def _write(root: str, session: Session) -> None:
    day = f"{session.created_at.astimezone():%Y-%m-%d}"
    folder = f"{root}/conversations/{day}/{session.id}"
    os.makedirs(f"{folder}/.session")
    files = {
        f"{session.kind}.md": b"# A topic\n",
        ".session/session.json": encode_head(session),
        ".session/messages.jsonl": b"".join(encode_records(session, FOLDER)),
    }
    for name, data in files.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)


def transcript_times(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds of a list of 300 transcripts with a catalog and with none, and of a bare
    start, taken in turns."""
    data, cache = f"{folder}/data", f"{folder}/cache"
    transcripts.make(folder, TRANSCRIPTS, TRANSCRIPT_BYTES)
    # Nothing goes on behind what is measured.
    places = {"HOME": folder, "XDG_DATA_HOME": data, "XDG_CACHE_HOME": cache}
    environment = {**clean_environment(), **places, "CI": "true"}

    def run(*command: str) -> None:
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    def without_catalog() -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.remove(f"{cache}/cortext/catalog.sqlite3{suffix}")
        run(CORTEXT, "resume", "--list", "--all")

    without_catalog()
    return in_turns(
        {
            "bare": lambda: run(sys.executable, "-c", "pass"),
            "transcripts": lambda: run(CORTEXT, "resume", "--list", "--all"),
            "transcripts anew": without_catalog,
        },
        rounds,
    )


def times(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds of each command, and of a bare start, taken in turns."""
    root = f"{folder}/workspace"
    os.makedirs(f"{root}/.workspace")
    make_workspace(root)
    places = {"XDG_DATA_HOME": f"{folder}/data", "XDG_CACHE_HOME": f"{folder}/cache"}
    environment = {**clean_environment(), **places}

    def run(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(
            command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL
        )

    run(CORTEXT, "init")()
    run(CORTEXT, "resume", "--list")()
    return in_turns(
        {
            "bare": run(sys.executable, "-c", "pass"),
            "plain list": run(CORTEXT, "list"),
            "list": run(CORTEXT, "resume", "--list"),
            "list in a terminal": lambda: _in_terminal(root, environment),
            "three words": run(CORTEXT, "resume", "topic 4321 words", "--context"),
            "long": run(CORTEXT, "resume", f"Topic {COUNT} about", "--context"),
        },
        rounds,
    )


def _in_terminal(root: str, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [CORTEXT, "resume", "--list"], cwd=root, env=environment, stdin=theirs, stdout=theirs
    ) as child:
        os.close(theirs)
        while _read(ours):
            pass
    os.close(ours)
    if child.returncode:
        raise SystemExit(f"cortext resume --list failed with {child.returncode}")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""


def in_child(folder: str, rounds: int) -> tuple[dict[str, float], float]:
    """The times, and the most MB that any of the commands had: of a process of its own, whose
    children are these commands and no others."""
    command = [sys.executable, "-m", "bench.lists", folder, str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    return found["times"], found["memory"]


if __name__ == "__main__":
    spent = times(sys.argv[1], int(sys.argv[2]))
    # Before the transcripts are made: a child counts the memory of its parent as its own.
    high = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    found = transcript_times(f"{sys.argv[1]}-transcripts", int(sys.argv[2]))
    spent |= {"bare there" if name == "bare" else name: taken for name, taken in found.items()}
    print(json.dumps({"times": spent, "memory": high}))
