"""The SDK with the real Claude Code, which has nothing but what is in our store."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.children import ROOT
from tests.tools.real.machine import Machine, missing
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="no node to run Claude Code"
)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with Stub() as stub:
        yield Machine(tmp_path / "root", stub, tools=["claude"])


def program(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, for which Claude Code has kept nothing: a machine that was set up
    anew, or another one."""
    shutil.rmtree(machine.root / "home/.claude", ignore_errors=True)
    return subprocess.run(
        [sys.executable, "-m", "tests.adapters.claude_agent_sdk.child", *words],
        cwd=machine.project,
        env={**machine.environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        start_new_session=True,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_claude_code_resumes_session_from_store(machine: Machine) -> None:
    """The model is given what was said before, and people find all of it."""
    machine.stub.say("In Bergen.", "In Oslo by now.")
    session, _ = said(program(machine, "asks", "Where is my parcel?"))
    again, result = said(program(machine, "asks", "And now?", session))
    assert (again, result) == (session, "In Oslo by now.")
    told = [("user", "Where is my parcel?"), ("assistant", "In Bergen."), ("user", "And now?")]
    assert missing(told, machine.stub.asked[-1]) == []
    assert "Oslo by now" in machine.ok("show", session, "--plain", "--no-pager")


@pytest.mark.parametrize("mended", [False, True])
def test_resumed_session_after_crash_has_no_call_without_result(
    machine: Machine, mended: bool
) -> None:
    """A call was stored and its result never: the session goes on, and the model that refuses a
    call without a result is given none; also when doctor has said so in the session."""
    # Not a plain `sleep`: Claude Code answers that one by itself, at once.
    machine.stub.say(Call("Bash", {"command": "timeout 20 tail -f /dev/null"}))
    done = program(machine, "dies", "Mend the roof")
    assert done.returncode == -signal.SIGKILL, done.stderr
    (row,) = json.loads(machine.ok("list", "--all", "--tool", "document", "--json"))
    assert row["title"] == "Mend the roof"
    kept = json.loads(machine.ok("show", row["id"], "--json"))
    spoken = [one for one in kept["messages"] if one["role"] != "system"]
    assert [one["role"] for one in spoken] == ["user", "assistant"]
    assert spoken[-1]["tool_calls"]
    if mended:
        (path,) = machine.root.rglob(f"programs/{row['id']}.jsonl")
        lines = re.sub(rb'"timestamp":"20..', b'"timestamp":"2001', path.read_bytes())
        # The call last, as where the next entry was not stored any more.
        called = lines.index(b"\n", lines.rindex(b'"role":"assistant"'))
        path.write_bytes(lines[: called + 1])
        machine.ok("doctor", "--fix", "--yes")
        assert b"no result was recorded" in path.read_bytes()
    machine.stub.say("It is mended.")
    session = kept["metadata"]["session_id"]
    assert said(program(machine, "asks", "Is it mended?", session))[1] == "It is mended."
    body = machine.stub.asked[-1]
    assert missing([("user", "Mend the roof"), ("user", "Is it mended?")], body) == []
    assert open_calls(body) == set()


def open_calls(body: dict[str, Any]) -> set[str]:
    """The calls in a request that no result follows."""
    blocks = [
        block
        for message in body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
    ]
    made = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return made - {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
