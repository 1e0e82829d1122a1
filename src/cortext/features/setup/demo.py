"""The guided tour of `cortext demo`, which runs real commands in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cortext import clock
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import replace
from cortext.model import json_codec, record_dicts
from cortext.model.session import Session
from cortext.stores.document import SessionStorage
from cortext.stores.log import LogStore
from cortext.tools.registry import CLAUDE, CODEX
from cortext.tools.writer_protocol import Turn, iso, open_writer
from cortext.workspace.session_manager import SessionManager


class Step(NamedTuple):
    """One step of the tour: a title, the command (`done`), and the lines of its output."""

    title: str
    done: str
    lines: list[str]


_PARSER = (
    "Why does the parser get slower with every file?",
    "The cache is never emptied: each file keeps its whole tree.",
    "Empty it every hour, then.",
    "Done. It stays at 40 MB now, over a whole day.",
)
_UPLOADS = (
    "Design the retry logic for uploads.",
    "Three tries, one second apart, then a queue on disk. We decided against a retry budget.",
)
_RESUME = """
import os, sys
from cortext import SessionManager, SessionStorage
manager = SessionManager(SessionStorage(sys.argv[1]))
session = manager.resume_latest()
print(f"process {os.getpid()} resumed: {session.title}")
manager.add_message("user", "Agreed, REST. How do we version it?")
print(f"now it has {session.message_count} messages")
manager.close()
"""
_WRITER = """
import sys
from cortext import SessionMessage, open_session_store
store = open_session_store(sys.argv[1])
for number in range(100_000):
    store.append("killed", SessionMessage("user", f"message {number}"))
    print(number, flush=True)
"""
_ACKNOWLEDGED = 50


def tour(folder: str) -> Iterator[Step]:
    """Run the tour of `cortext demo` and yield each step when it is done.

    Everything is written below `folder`, which has its own home folder. The user's history is not
    read.
    """
    home, project = f"{folder}/home", f"{folder}/home/shop"
    os.makedirs(project)
    yield _have(home, project)
    yield _run("They stand in one list, whichever tool they were had in", home, "list")
    yield _run("What was said is found, with the command that reopens it", home, "search", "retry")
    yield _outlive(home)
    yield _resume(f"{folder}/sessions")
    yield _kill(f"{folder}/logs")


def _have(home: str, project: str) -> Step:
    hour = timedelta(hours=1)
    began = clock.now() - 3 * hour
    claude = _write(CLAUDE.name, f"{home}/.claude", project, _PARSER, clock.now() - 50 * hour)
    codex = _write(CODEX.name, f"{home}/.codex", project, _UPLOADS, began)
    _begun_at(codex, began)
    paths = [os.path.relpath(path, home) for path in (claude, codex)]
    return Step(
        "Two conversations: one in Claude Code, two days ago, and one in Codex, today",
        "claude; codex   (here: as they write them, in a home of the tour's own)",
        [f"~/{path}  {os.path.getsize(f'{home}/{path}')} bytes" for path in paths],
    )


def _write(tool: str, home: str, cwd: str, said: Sequence[str], began: datetime) -> str:
    turns = [
        Turn("assistant" if number % 2 else "user", began + timedelta(minutes=number), text)
        for number, text in enumerate(said)
    ]
    # A title would start the Codex program; Codex shows the first message instead.
    title = "" if tool == CODEX.name else said[0]
    return open_writer(tool, home).write(turns, cwd=cwd, title=title).path


def _begun_at(rollout: str, began: datetime) -> None:
    """Give a Codex transcript an earlier start time.

    Our writer starts a session at the current time, but in the story it began hours ago.
    """
    first, _, rest = read_file(rollout).partition(b"\n")
    meta = record_dicts.as_dict(json_codec.decode(first))
    meta["timestamp"] = meta["payload"]["timestamp"] = iso(began)
    replace(rollout, [json_codec.encode(meta), b"\n", rest])


def _run(title: str, home: str, *words: str) -> Step:
    return Step(title, f"cortext {' '.join(words)}", _cortext(home, *words))


def _outlive(home: str) -> Step:
    _cortext(home, "sync", "--quiet")
    # A later command would archive in the background, in a folder that may be gone by then.
    _cortext(home, "config", "archive.enabled", "off")
    shutil.rmtree(f"{home}/.claude")
    return Step(
        "Claude Code's history is deleted, as it does after 30 days: ours is there",
        "rm -r ~/.claude; cortext search parser",
        _cortext(home, "search", "parser"),
    )


def _cortext(home: str, *words: str) -> list[str]:
    """Run a cortext command with `home` as the home folder, and return the lines of its output."""
    env = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "CI": "1"}
    command = [sys.executable, "-m", "cortext", *words]
    return _output(command, cwd=f"{home}/shop", env=env)


def _resume(folder: str) -> Step:
    manager = SessionManager(SessionStorage(folder))
    manager.create(title="REST or GraphQL for our internal APIs?", model="demo", tags=["api"])
    manager.add_message("user", "REST or GraphQL for our internal APIs?")
    manager.add_message("assistant", "Three callers, all inside: I would start with REST.")
    manager.close()
    return Step(
        "In your own agent: another process goes on with what one began",
        "SessionManager(...).resume_latest()",
        _output([sys.executable, "-c", _RESUME, folder]),
    )


def _kill(folder: str) -> Step:
    """Kill a writer while it writes, and check that every acknowledged message is stored."""
    store = LogStore(folder)
    store.save(Session("killed", title="A writer that is killed"))
    command = [sys.executable, "-c", _WRITER, f"log:{folder}"]
    whole = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        try:
            for line in child.stdout or ():
                whole += line.endswith("\n")
                if whole == _ACKNOWLEDGED:
                    child.send_signal(signal.SIGKILL)
        finally:
            child.kill()
    present = store.load("killed").message_count
    verdict = "nothing is lost" if present >= whole else "something is lost: a defect"
    return Step(
        "A writer is killed in the middle of its work",
        "store.append(...) in a loop, kill -9",
        [f"{whole} messages were acknowledged, {present} are there: {verdict}"],
    )


def _output(command: Sequence[str], **how: Any) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, start_new_session=True, **how
    )
    return done.stdout.splitlines()
