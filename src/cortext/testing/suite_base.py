"""The base class of the test suite, and helpers that make sample sessions and messages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores.port import SessionStore

START = datetime(2025, 11, 22, 10, 30, tzinfo=UTC)
PATIENCE = 60.0
"""Seconds after which a thread or a child process counts as hung."""

_Test = TypeVar("_Test", bound=Callable[..., None])
_needed_flags: dict[str, tuple[str, ...]] = {}


def needs(*flags: str) -> Callable[[_Test], _Test]:
    """Return a decorator for a test that some stores cannot pass.

    `flags` are names of attributes of `Suite`, such as `persistent`. If one of these attributes is
    False for a store, the suite leaves out the test.
    """

    def mark(test: _Test) -> _Test:
        _needed_flags[test.__name__] = flags
        return test

    return mark


class Suite:
    """The base class of the tests of a store.

    A subclass must define `open`. It must also define `url`, unless `processes` is False.
    """

    persistent = True
    processes = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, flags in _needed_flags.items():
            if not all(getattr(cls, flag) for flag in flags):
                setattr(cls, name, None)

    def open(self, place: str) -> SessionStore:
        """Open the store under test at the path `place`, and return the store object.

        Unless `persistent` is False, two objects on the same place must see the same sessions.
        """
        raise NotImplementedError

    def url(self, place: str) -> str:
        """Return a URL with which another process can open the store at the path `place`.

        This is a URL that cortext knows, such as `log:PATH`, or `python:MODULE:NAME:PLACE`. For the
        second form, the process imports MODULE and calls NAME(PLACE).
        """
        raise NotImplementedError


def place(tmp_path: Path) -> str:
    """Return the path for a new store, two levels below `tmp_path`.

    So a test can detect files that the store writes outside its own path.
    """
    deep = tmp_path / "around" / "below"
    deep.mkdir(parents=True, exist_ok=True)
    return str(deep / "place")


def message(text: str, seconds: float = 0, *, id: str = "") -> SessionMessage:
    return SessionMessage("user", text, timestamp=START + timedelta(seconds=seconds), id=id)


def call(name: str, seconds: float = 0) -> ToolInvocation:
    return ToolInvocation(name, {"path": "a"}, timestamp=START + timedelta(seconds=seconds))


def session(id: str = "s", *messages: SessionMessage) -> Session:
    return Session(id, created_at=START, updated_at=START, messages=list(messages))


def texts(messages: list[SessionMessage]) -> list[str]:
    return [message.content for message in messages]


def full_session(id: str = "full") -> Session:
    """Return a session with a value in every field."""
    at = [START + timedelta(microseconds=step) for step in range(10)]
    return Session(
        id,
        title="A title with ünïcode \u2028 and \ud800",
        created_at=at[0],
        updated_at=at[9],
        working_dir="/somewhere/else",
        model="a-model",
        messages=[
            SessionMessage("system", "be brief", at[1], "m1"),
            SessionMessage("user", "line\nline\u2028\0end", at[2], "m2", name="ann", tokens=3),
            SessionMessage(
                "assistant", "", at[4], "m3",
                tool_calls=[{"id": "c1", "function": {"name": "read", "arguments": "{}"}}],
                structured_data={"nested": [1, 2.5, None, True, {"deep": "é"}]},
                extra={"type": "odd", "session_id": 1, "x-unknown": [10**30]},
            ),
            SessionMessage("tool", "text", at[6], "m4", tool_call_id="c1"),
        ],
        tool_history=[
            ToolInvocation("read", {"path": "a"}, "text", 0.25, id="t1", timestamp=at[5]),
            ToolInvocation("run", {}, None, 1.0, False, "boom", "t2", at[8], {"exit": 1}),
        ],
        total_prompt_tokens=11,
        total_completion_tokens=22,
        tags=["b", "a"],
        metadata={"any": {"thing": [1, None]}},
        kind="brainstorm",
        status="paused",
        owner="ann",
        parent_id="parent",
        stop_reason="interrupt",
        summary="what was said",
        agent="an-agent",
        command="/workspace.brainstorm",
        prompt_hash="sha256:abc",
        tools=["mcp__a__b"],
        native=[{"tool": "a-tool", "session_id": "x", "from": 0}],
        pending={"run": [1, 2]},
        extra={"agent_config": {"temperature": 1}, "conversation_id": "theirs", "future": [None]},
    )  # fmt: skip


def start_child(*arguments: str) -> subprocess.Popen[str]:
    """Start the program `store_writer_program` in another Python process.

    That process can import the same modules as this process.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "cortext.testing.store_writer_program", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finish(child: subprocess.Popen[str]) -> list[str]:
    """Wait for a child process to end, and return the lines that it printed.

    The test fails if the child prints an error, exits with an error code, or does not end in time.
    """
    try:
        output, errors = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise
    assert (child.returncode, errors) == (0, "")
    return output.splitlines()
