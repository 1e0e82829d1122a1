"""(k) `aur spawn`: its list of 10,000 sessions, the way to its prompt, and a session of 100,000
turns that goes on."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from bench.starts import clean_environment
from bench.timing import in_turns
from cortext import Session, SessionMessage
from cortext.formats.log import LOG, encode, encode_head_line
from cortext.formats.message_lines import encode_record

AUR = os.path.join(os.path.dirname(sys.executable), "aur")
COUNT = 10_000
TURNS = 100_000
_AGENTS = ("qa-test", "architect", "default")
_STATUSES = ("completed", "paused", "active")
_ESCAPES = re.compile(rb"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
_PROMPT = b"default>"
_PATIENCE = 60


def make_sessions(folder: str, count: int = COUNT) -> None:
    """Sessions of four turns over more than a year. Written plainly: that each is synced is what
    the other benches are about."""
    os.makedirs(folder)
    began = datetime.now(UTC) - timedelta(hours=count)
    for number in range(count):
        session = _session(number, began + timedelta(hours=number))
        with open(f"{folder}/{session.id}.jsonl", "wb") as file:
            file.write(encode(session))


def _session(number: int, when: datetime) -> Session:
    agent = _AGENTS[number % 3]
    return Session(
        f"{agent}-{when:%Y%m%d-%H%M%S}-{number:04x}",
        title=f"Topic {number} about words and things",
        kind="spawn",
        agent=agent,
        status=_STATUSES[number // 3 % 3],
        created_at=when,
        updated_at=when,
        working_dir="/home/you/project",
        messages=[_turn(n, when) for n in range(4)],
    )


def _turn(number: int, when: datetime) -> SessionMessage:
    role = "assistant" if number % 2 else "user"
    text = f"turn {number}: " + "words " * 40
    return SessionMessage(role, text, timestamp=when, tokens=len(text) // 4)


def make_long(folder: str, turns: int = TURNS) -> None:
    """One session with many turns, called `long`."""
    os.makedirs(folder)
    when = datetime.now(UTC)
    head = Session("long", title="turn 0", agent="default", kind="spawn", status="completed")
    with open(f"{folder}/long.jsonl", "wb") as file:
        file.write(encode_head_line(head))
        file.writelines(encode_record(_turn(number, when), LOG.records) for number in range(turns))


def environment(folder: str) -> dict[str, str]:
    """A person of whom nothing is known but these sessions, and whose agent is `cat`."""
    homes = {name: f"{folder}/{name.lower()}" for name in ("HOME", "AURORA_HOME")}
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        homes[name] = f"{folder}/home/{name.lower()}"
    os.makedirs(homes["HOME"], exist_ok=True)
    return {**clean_environment(), **homes, "AURORA_SPAWN_TOOL": "cat", "TERM": "xterm"}


def sessions_in(folder: str) -> str:
    return f"{folder}/aurora_home/spawn/sessions"


def list_times(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds of the list, and of a bare start, taken in turns."""
    make_sessions(sessions_in(folder))
    env = environment(folder)

    def run(*command: str) -> None:
        null = subprocess.DEVNULL
        subprocess.run(command, env=env, cwd=folder, check=True, stdout=null, stderr=null)

    # The first reads them all, the second what was written within the tick of the clock.
    for _ in range(2):
        run(AUR, "spawn", "--list-sessions")
    return in_turns(
        {
            "bare": lambda: run(sys.executable, "-c", "pass"),
            "list": lambda: run(AUR, "spawn", "--list-sessions"),
        },
        rounds,
    )


def prompt_times(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds until the prompt of a new session and of the long one, and of a bare start,
    taken in turns; and the most MB that the long one took."""
    make_long(sessions_in(folder))
    env = environment(folder)
    times: dict[str, list[float]] = {"bare": [], "start": [], "resume": []}
    memory = 0.0
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
        times["bare"].append(time.perf_counter() - began)
        times["start"].append(_until_prompt(folder, env, "-i")[0])
        spent, taken = _until_prompt(folder, env, "--resume", "long")
        times["resume"].append(spent)
        memory = max(memory, taken)
    return {name: statistics.median(spent) for name, spent in times.items()} | {"memory": memory}


def _until_prompt(folder: str, env: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Seconds until `aur spawn` has shown its prompt in a terminal, and its peak MB by then."""
    ours, theirs = pty.openpty()
    began = time.perf_counter()
    with subprocess.Popen(
        [AUR, "spawn", *arguments],
        cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    ) as child:  # fmt: skip
        os.close(theirs)
        seen = _read_until(ours, _PROMPT)
        spent = time.perf_counter() - began
        if _PROMPT not in seen:
            child.kill()
            raise SystemExit(f"aur spawn {' '.join(arguments)} showed no prompt: {seen!r}")
        taken = _peak(child.pid)
        os.write(ours, b"\x04")
        _read_until(ours, None)
    os.close(ours)
    if child.returncode:
        raise SystemExit(f"aur spawn {' '.join(arguments)} failed with {child.returncode}")
    return spent, taken


def _read_until(fd: int, what: bytes | None) -> bytes:
    """What a terminal shows until it shows this, or, for None, until it is closed."""
    shown, end = b"", time.monotonic() + _PATIENCE
    with suppress(OSError):  # the other side was closed
        while (what is None or what not in shown) and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                shown = _ESCAPES.sub(b"", shown + os.read(fd, 65536))
    return shown


def _peak(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def in_child(folder: str, rounds: int) -> dict[str, float]:
    """All of it, from a process of its own."""
    command = [sys.executable, "-m", "bench.spawn", folder, str(rounds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    place, count = sys.argv[1], int(sys.argv[2])
    lists = list_times(f"{place}/many", count)
    prompts = prompt_times(f"{place}/long", max(count // 2, 3))
    print(json.dumps({**prompts, "list": lists["list"], "bare there": lists["bare"]}))
