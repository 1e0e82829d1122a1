"""The guided tour of `cortext demo`, which runs real commands in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from cortext import clock
from cortext.durability.durable_files import replace
from cortext.durability.read_files import read_file
from cortext.model import json_codec, message_dicts
from cortext.model.session import Session
from cortext.stores.document import SessionStorage
from cortext.stores.log import LogStore
from cortext.tools.registry import CLAUDE, CODEX
from cortext.tools.writer_protocol import Turn, iso, open_writer
from cortext.workspace.session_manager import SessionManager


class Step(msgspec.Struct, frozen=True):
    """One step of the tour. `done` is the command that was run, and `lines` are its output."""

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
_KILL_AFTER = 50


def tour(folder: str) -> Iterator[Step]:
    """Run the tour of `cortext demo` and yield each step when it is done.

    The commands write only below `folder` and use a home folder there. The user's own history is
    not read.
    """
    home, project = f"{folder}/home", f"{folder}/home/shop"
    os.makedirs(project)
    yield _write_history(home, project)
    yield _run_step("One list shows the conversations of all tools", home, "list")
    title = "Search finds the text; each line starts with the id for `cortext resume`"
    yield _run_step(title, home, "search", "retry")
    yield _delete_history(home)
    yield _resume(f"{folder}/sessions")
    yield _kill(f"{folder}/logs")


def _write_history(home: str, project: str) -> Step:
    hour = timedelta(hours=1)
    began = clock.now() - 3 * hour
    claude = _write_session(
        CLAUDE.name, f"{home}/.claude", project, _PARSER, clock.now() - 50 * hour
    )
    codex = _write_session(CODEX.name, f"{home}/.codex", project, _UPLOADS, began)
    codex = _set_start_time(codex, f"{home}/.codex/sessions", began)
    paths = [os.path.relpath(path, home) for path in (claude, codex)]
    return Step(
        "There are two conversations: one in Claude Code two days ago, and one in Codex today",
        "find ~ -name '*.jsonl'     # ~ is a temporary home folder of this tour, not yours",
        [f"~/{path}  {os.path.getsize(f'{home}/{path}')} bytes" for path in paths],
    )


def _write_session(tool: str, home: str, cwd: str, texts: Sequence[str], began: datetime) -> str:
    turns = [
        Turn("assistant" if number % 2 else "user", began + timedelta(minutes=number), text)
        for number, text in enumerate(texts)
    ]
    # To set a title, our writer would start the Codex program. Without a title, lists show the
    # first message.
    title = "" if tool == CODEX.name else texts[0]
    return open_writer(tool, home).write(turns, cwd=cwd, title=title).path


def _set_start_time(rollout: str, sessions: str, began: datetime) -> str:
    """Change the start time of the Codex transcript `rollout` to `began`, and return its new path.

    Our writer starts a session at the current time, but the session of the tour began hours ago.
    `sessions` is the folder of all transcripts. The path of a transcript contains the start time.
    """
    first, _, rest = read_file(rollout).partition(b"\n")
    meta = message_dicts.as_dict(json_codec.decode(first))
    meta["timestamp"] = meta["payload"]["timestamp"] = iso(began)
    id = meta["payload"]["id"]
    path = f"{sessions}/{began.astimezone():%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S}-{id}.jsonl"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace(path, [json_codec.encode(meta), b"\n", rest])
    os.remove(rollout)
    return path


def _run_step(title: str, home: str, *words: str) -> Step:
    return Step(title, f"cortext {' '.join(words)}", _run_cortext(home, *words))


def _delete_history(home: str) -> Step:
    _run_cortext(home, "sync", "--quiet")
    # Otherwise a later command starts a sync in the background, after the folder may be deleted.
    _run_cortext(home, "config", "archive.enabled", "off")
    shutil.rmtree(f"{home}/.claude")
    return Step(
        "Claude Code deletes its history after 30 days; cortext still has its copy",
        "rm -r ~/.claude; cortext search parser     # only in the home folder of this tour",
        _run_cortext(home, "search", "parser"),
    )


def _run_cortext(home: str, *words: str) -> list[str]:
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
        "An agent saves a new conversation; a second process continues it",
        "SessionManager(...).resume_latest()",
        _output([sys.executable, "-c", _RESUME, folder]),
    )


def _kill(folder: str) -> Step:
    """Kill a process while it writes messages, and check that no acknowledged message is lost.

    A message is acknowledged when the call that saves it has returned.
    """
    store = LogStore(folder)
    store.save(Session("killed", title="A writer that is killed"))
    command = [sys.executable, "-c", _WRITER, f"log:{folder}"]
    acknowledged = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        try:
            for line in child.stdout or ():
                acknowledged += line.endswith("\n")
                if acknowledged == _KILL_AFTER:
                    child.send_signal(signal.SIGKILL)
        finally:
            child.kill()
    stored = store.load("killed").message_count
    return Step(
        "A process is killed while it writes messages",
        "store.append(...) in a loop, kill -9",
        describe_kill(acknowledged, stored),
    )


def describe_kill(acknowledged: int, stored: int) -> list[str]:
    """Return lines that say whether a killed process lost messages.

    `acknowledged` is the number of messages for which `append` returned. `stored` is the number of
    messages in the store. It may be greater, because the process may be killed after a message was
    stored, but before `append` returned.
    """
    verdict = "nothing is lost" if stored >= acknowledged else "messages are lost; this is a bug"
    lines = [f"`append` returned for {acknowledged} messages; {stored} are in the file: {verdict}"]
    if stored > acknowledged:
        lines.append("The last message was stored, but the process was killed before it knew that.")
    return lines


def _output(command: Sequence[str], **options: Any) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, start_new_session=True, **options
    )
    return done.stdout.splitlines()
