"""The tour: the main job, done for real in a folder that is thrown away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from cortext.app.sessions import list_sessions
from cortext.lifecycle.manager import SessionManager
from cortext.model.session import Session
from cortext.model.summary import SessionSummary
from cortext.stores.document import SessionStorage
from cortext.stores.log import LogStore


class Step(NamedTuple):
    """One stop of the tour: what was done, and what came of it."""

    title: str
    done: str
    lines: list[str]


_REQUEST = "REST or GraphQL for our internal APIs?"
_ANSWER = "Three callers, all inside: REST is simpler, and you can cache it. I would start there."
_FOLLOW_UP = "Agreed, REST. How do we version it?"
_ACKNOWLEDGED = 50

_RESUME = """
import os, sys
from cortext import SessionManager, SessionStorage
manager = SessionManager(SessionStorage(sys.argv[1]))
session = manager.resume_latest()
print(f"process {os.getpid()} resumed: {session.title}")
for message in session.messages:
    print(f"  {message.role}: {message.content}")
manager.add_message("user", sys.argv[2])
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


def tour(folder: str) -> Iterator[Step]:
    """Each step as it happens. Everything is written below `folder`."""
    sessions = os.path.join(folder, "sessions")
    yield _have(sessions)
    yield _list(sessions)
    yield _resume(sessions)
    yield _kill(os.path.join(folder, "logs"))


def _have(folder: str) -> Step:
    manager = SessionManager(SessionStorage(folder))
    other = manager.create(title="Token refresh race in the auth service", tags=["bug"])
    manager.close()
    session = manager.create(model="demo", tags=["api"])
    manager.add_message("user", _REQUEST)
    manager.record_tool_call("grep", {"pattern": "fetch("}, result={"callers": 3}, duration=0.2)
    manager.add_message("assistant", _ANSWER)
    manager.update_usage(220, 41)
    manager.set_title(manager.generate_title())
    manager.close()
    names = [f"{session.id}.json", f"{other.id}.json"]
    return Step(
        "A conversation is had, and stopped",
        "manager.create(); manager.add_message(...); manager.close()",
        [f"{name}  {os.path.getsize(os.path.join(folder, name))} bytes" for name in names],
    )


def _list(folder: str) -> Step:
    url = f"document:{folder}"
    rows = [_row(summary) for summary in list_sessions(url)]
    hits = [_row(summary) for summary in list_sessions(url, search="graphql")]
    return Step(
        "It is listed, and found by a word of its title",
        'manager.list_sessions(); manager.list_sessions(search="graphql")',
        [*rows, "searching for graphql:", *hits],
    )


def _resume(folder: str) -> Step:
    output = _python(_RESUME, folder, _FOLLOW_UP)
    storage = SessionStorage(folder)
    session: Session = storage.load(list_sessions(f"document:{folder}", limit=1)[0].id)
    return Step(
        "Another process resumes it, with everything that was said",
        "SessionManager(...).resume_latest()",
        [*output.splitlines(), f"now it has {session.message_count} messages"],
    )


def _kill(folder: str) -> Step:
    """A writer is killed while it writes: what it was told is saved is there."""
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


def _row(summary: SessionSummary) -> str:
    return f"  {summary.id[:8]}  {summary.updated_at:%H:%M}  {summary.title}"


def _python(code: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        start_new_session=True,
    )
    return done.stdout
