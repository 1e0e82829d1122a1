"""A conversation goes from a program to the real Claude Code and back, and nothing is lost."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from agents import Runner

from cortext import SessionMessage, Workspace
from cortext.adapters.openai_agents import CortextSession
from tests.adapters.openai_agents.scenes import call, look_up, speaker
from tests.adapters.pages import run_page
from tests.tools.real.machine import Machine, missing, times_told
from tests.tools.real.request_messages import spoken
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

needs_claude = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")), reason="no node to run Claude Code"
)
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


@needs_claude
def test_agent_session_is_resumed_in_claude_code_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own resume finds a session with the texts and the call; the model is told, and where the
    call's whole record is, which has the result. A program goes on with what was said there."""
    with Stub(["In Oslo by now."]) as stub:
        machine = machine_of(tmp_path / "root", stub, monkeypatch)
        steps = [call("look_up", "c1", key="parcel 17")], "It is in Bergen."
        run(CortextSession("order-17", owner="ada"), "Where is my parcel?", *steps)
        line = machine.line("order-17", "--tool", "claude")
        assert line.words[:2] == ["claude", "--resume"]
        done = machine.headless(line, "And now?")
        assert (done.code, done.stdout.strip()) == (0, "In Oslo by now."), done
        (body,) = stub.asked
        texts = [text for role, text in spoken(body) if role == "assistant" and "look_up" in text]
        found = re.search(r'\{"key":"parcel 17"\} · cortext (show \S+ --message \d+)', texts[0])
        assert found, texts
        shown = machine.ok(*found[1].split(), "--plain", "--no-pager")
        assert "found parcel 17" in shown

        (row,) = json.loads(machine.ok("list", "--all", "--json"))
        machine.ok("stop", row["id"])
        session = CortextSession(row["id"], f"workspace:{Workspace.find(tmp_path).root}")
        assert said_in(run(session, "Thanks", "Welcome."))[-3:] == [
            ("user", "And now?"),
            ("assistant", "In Oslo by now."),
            ("user", "Thanks"),
        ]
    told = [
        ("user", "Where is my parcel?"),
        ("assistant", "It is in Bergen."),
        ("user", "And now?"),
    ]
    assert missing(told, body) == []
    assert [text for _, text in told if times_told(text, body) != 1] == []


@pytest.mark.parametrize("name", ["001-plan-größe", "{day}/001-plan-größe"])
def test_workspace_conversation_continues_by_its_name(name: str, tmp_path: Path) -> None:
    """In any script, and with its day, as the page says: the program goes on with it, and begins no
    other."""
    workspace = Workspace.init(tmp_path / "space")
    started = workspace.new("plan", "Größe")
    workspace.store.append(started.session.id, SessionMessage("user", "Wie groß?"))
    day = Path(started.document).parent.parent.name
    session = run_page("openai-agents.md")["conversation"](name.format(day=day), workspace.root)
    assert said_in(run(session, "Und nun?", "Zwei Meter.")) == [
        ("user", "Wie groß?"),
        ("user", "Und nun?"),
    ]
    assert [row.id for row in workspace.list()] == [started.session.id]
    assert workspace.store.load(started.session.id).messages[-1].content == "Zwei Meter."


@needs_claude
def test_claude_code_session_continues_in_agent_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is given what was said, called and answered there; and Claude Code, what it said
    since."""
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
