"""(l) the transcripts of a tool: reading 10,000 of them the first time, a turn more in a long one,
and a look at all when nothing is new."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

from bench.search import nothing_new
from bench.starts import clean_environment
from cortext import paths
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.search import Search
from cortext.tools.writer_protocol import Turn

COUNT = 10_000
PROJECTS = 40
_LONG = 20_000
_APPENDS = 15
_RARE = "zyxwordnobodysaid"


def make_sessions(home: str, count: int = COUNT) -> str:
    """Sessions of four turns over more than a year, and one with many; the path of that."""
    began = datetime.now(UTC) - timedelta(hours=count)
    for number in range(count):
        path = _path(home, f"project{number % PROJECTS}", number)
        write(path, 4, began + timedelta(hours=number))
    path = _path(home, "project0", count)
    write(path, _LONG, began)
    return path


def _path(home: str, project: str, number: int) -> str:
    folder = f"{home}/.claude/projects/-home-you-{project}"
    os.makedirs(folder, exist_ok=True)
    return f"{folder}/{number:08x}-0000-4000-8000-000000000000.jsonl"


def write(path: str, turns: int, when: datetime, first: int = 0) -> None:
    """Add turns to a transcript, each after the one before."""
    with open(path, "a", encoding="utf-8") as file:
        for number in range(first, first + turns):
            role = "assistant" if number % 2 else "user"
            text = f"Turn {number} about things\nIt says {_RARE}a{number}: " + "words " * 40
            file.write(json.dumps(_line(path, Turn(role, when, text), number)) + "\n")
    os.utime(path, (when.timestamp(), when.timestamp()))


def _line(path: str, turn: Turn, number: int) -> dict[str, object]:
    """As the tool writes one."""
    id = os.path.basename(path).removesuffix(".jsonl")
    return {
        "parentUuid": f"{id}-{number - 1}" if number else None,
        "isSidechain": False,
        "cwd": "/home/you/project",
        "sessionId": id,
        "type": turn.role,
        "message": {"role": turn.role, "content": turn.text},
        "uuid": f"{id}-{number}",
        "timestamp": turn.timestamp.isoformat(),
    }


def first_build() -> dict[str, float]:
    """How many texts a second, after a look at each transcript."""
    ConversationList(paths.workspace_root(), everywhere=True).list(patience=None)
    search = Search()
    began = time.perf_counter()
    found = search.refresh(patience=None)
    if found.left:
        raise SystemExit(f"the index was not built: {found.why}")
    return {"texts": found.messages / (time.perf_counter() - began)}


def appends(path: str) -> dict[str, float]:
    """Median seconds until one more turn of a long transcript is in the index."""
    spent: list[float] = []
    for number in range(_LONG, _LONG + _APPENDS):
        write(path, 1, datetime.now(UTC), number)
        search = Search()
        began = time.perf_counter()
        found = search.refresh()
        spent.append(time.perf_counter() - began)
        if found.messages != 1:
            raise SystemExit(f"turn {number} was not taken in: {found}")
    return {"turn": statistics.median(spent)}


def in_child(folder: str, rounds: int, count: int = COUNT) -> dict[str, float]:
    """All of it, from a process of its own, for a person of whom nothing is known but this."""
    homes = {
        name: f"{folder}/{name.lower()}"
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    }
    os.makedirs(homes["HOME"])
    env = {**clean_environment(), **homes, "CI": "true", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-m", "bench.tool_refresh", homes["HOME"], str(rounds), str(count)]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    home = sys.argv[1]
    long = make_sessions(home, int(sys.argv[3]))
    os.chdir(home)
    found = {**first_build(), **appends(long), **nothing_new(int(sys.argv[2]))}
    print(json.dumps(found))
