"""A conversation goes from a program to the real Claude Code and back: nothing is lost on the way."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from agents import Runner

from cortext.adapters.openai_agents import CortextSession
from tests.adapters.openai_agents.scenes import call, look_up, speaker
from tests.tools.machine import Machine, missing, times_told
from tests.tools.stub import Stub
from tests.tools.wire import Call

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (shutil.which("node") and shutil.which("npm")), reason="no node to run Claude Code"
    ),
]
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


def machine_of(root: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A person's machine with Claude Code on it; this process is a program of that person."""
    machine = Machine(root, stub, tools=["claude"])
    for name in HOMES:
        monkeypatch.setenv(name, machine.environment[name])
    monkeypatch.delenv("AURORA_HOME")
    return machine


def run(session: CortextSession, text: str, *steps: Any) -> list[dict[str, Any]]:
    """One run of an agent that says these things; what its model was given at last."""
    agent, model = speaker(*steps, tools=[look_up])
    asyncio.run(Runner.run(agent, text, session=session))
    assert model.last_call is not None
    given: Any = model.last_call.input
    return given


def said_in(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for item in items:
        if "role" in item:
            content = item["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            texts.append((item["role"], text))
    return texts


def test_what_a_program_kept_reopens_in_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own resume finds a session with the texts, the call and the result; the model is told."""
    with Stub(["In Oslo by now."]) as stub:
        machine = machine_of(tmp_path / "root", stub, monkeypatch)
        steps = [call("look_up", "c1", key="parcel 17")], "It is in Bergen."
        run(CortextSession("order-17", owner="ada"), "Where is my parcel?", *steps)
        line = machine.line("order-17", "--tool", "claude")
        assert line.words[:2] == ["claude", "--resume"]
        done = machine.headless(line, "And now?")
        assert (done.code, done.stdout.strip()) == (0, "In Oslo by now."), done
    (body,) = stub.asked
    told = [("user", "Where is my parcel?"), ("assistant", "It is in Bergen."), ("user", "And now?")]
    assert missing(told, body) == []
    assert [text for _, text in told if times_told(text, body) != 1] == []
    for words in ("look_up", "parcel 17", "found parcel 17"):
        assert words in json.dumps(body["messages"])


def test_what_was_begun_in_claude_code_goes_on_in_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is given what was said, called and answered there; and Claude Code, what the program
    was told since."""
    with Stub() as stub:
        machine = machine_of(tmp_path / "root", stub, monkeypatch)
        claude = machine.tools["claude"]
        note = machine.project / "note.txt"
        note.write_text("the parcel is in Bergen\n", encoding="utf-8")
        machine.ok("init")
        stub.say(Call("Read", {"file_path": str(note)}), "It is in Bergen.")
        assert claude.run("Where is my parcel?", options=["--allowedTools", "Read"]).code == 0
        key = machine.ok("import", claude.sessions()[0]).split()[-1]

        session = CortextSession(key, f"workspace:{machine.project}")
        given = run(session, "And tomorrow?", "In Oslo.")
        assert said_in(given) == [
            ("user", "Where is my parcel?"),
            ("assistant", "It is in Bergen."),
            ("user", "And tomorrow?"),
        ]
        (made,) = [item for item in given if item.get("type") == "function_call"]
        (answer,) = [item for item in given if item.get("type") == "function_call_output"]
        assert (made["name"], json.loads(made["arguments"])["file_path"]) == ("Read", str(note))
        assert made["call_id"] == answer["call_id"]
        assert "the parcel is in Bergen" in answer["output"]

        stub.say("Yes, in Oslo.")
        done = machine.headless(machine.line(key, "--tool", "claude"), "Surely?")
        assert done.code == 0, done
    told = [*said_in(given), ("assistant", "In Oslo.")]
    assert missing(told, stub.asked[-1]) == []
