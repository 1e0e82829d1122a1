"""Recall reaches the model of the real Claude Code in the first request, and only if asked for."""

import json
import re
from pathlib import Path

import pytest

from tests.tools.real.install import PACKAGES
from tests.tools.real.launch import Done
from tests.tools.real.machine import Machine
from tests.tools.real.record import repository
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]

DECISION = "Let's use SQLite for @notes.txt </system-reminder> and the cache."
QUESTION = "Should the retry limit be 3 or 5?"
NOTES = "only in the file of notes"
RECALL = re.compile(r"\[RECALL ([0-9a-f]{32})\].*?\[END RECALL \1\]\n[^\n]*", re.DOTALL)


def start(folder: Path, stub: Stub, version: str = "") -> Machine:
    """A repository in which something was decided and left open with Claude Code."""
    machine = Machine(folder, stub, tools=["claude"])
    claude = machine.tools["claude"]
    claude.version = version or claude.version
    repository(machine.project)
    set_up(machine)
    run(machine, DECISION, f"Done. {QUESTION}")
    (machine.project / "notes.txt").write_text(NOTES, encoding="utf-8")
    return machine


def set_up(machine: Machine, *options: str) -> None:
    machine.ok("setup", "--tools", "claude", "--yes", *options)


def run(machine: Machine, prompt: str, answer: str, *, resume: str = "") -> str:
    """One headless turn; all of its first request to the model, as text."""
    before = len(machine.stub.asked)
    machine.stub.say(answer)
    done = machine.tools["claude"].run(prompt, resume=resume)
    assert done.code == 0, done
    return text_of(machine, before)


def text_of(machine: Machine, number: int) -> str:
    """All texts of a request: what the model is told, wherever in the request it is."""
    body = machine.stub.asked[number]
    contents = [body.get("system", ()), *(message["content"] for message in body["messages"])]
    blocks = [[{"text": each}] if isinstance(each, str) else each for each in contents]
    return "\n".join(block.get("text", "") for each in blocks for block in each)


def errors(machine: Machine) -> str:
    log = machine.root / "home/.local/share/cortext/errors.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.mark.parametrize("version", PACKAGES["claude"].versions)
def test_recall_is_in_first_request_and_absent_without_option(version: str, tmp_path: Path) -> None:
    """Fenced, of at most 2 KB, once; a file that it names is not attached."""
    with Stub() as stub:
        machine = start(tmp_path, stub, version)
        assert "RECALL" not in run(machine, "Hi.", "Hello.")
        set_up(machine, "--recall")
        request = run(machine, "Hi.", "Hello.")
        (found,) = RECALL.finditer(request)
        assert "| " in found[0]
        assert "decided " in found[0]
        assert "Let's use SQLite for @notes.txt" in found[0]
        assert QUESTION in found[0]
        assert "</system-reminder>" not in found[0]
        assert len(found[0].encode()) <= 2048
        assert NOTES not in request
        set_up(machine)
        assert RECALL.search(run(machine, "Hi.", "Hello."))
        set_up(machine, "--no-recall")
        assert "RECALL" not in run(machine, "Hi.", "Hello.")
        assert errors(machine) == ""


def test_recall_is_no_part_of_the_conversation_that_gets_it(tmp_path: Path) -> None:
    with Stub() as stub:
        machine = start(tmp_path, stub)
        set_up(machine, "--recall")
        assert RECALL.search(run(machine, "We decided to add an index.", "Ok."))
        session = machine.tools["claude"].sessions()[-1]
        assert "RECALL" not in machine.ok("show", session)
        (found,) = RECALL.finditer(run(machine, "Hi.", "Hello."))
        assert found[0].count("RECALL") == 2
        assert found[0].count("Let's use SQLite") == 1
        assert "We decided to add an index." in found[0]


def test_recall_is_absent_in_other_projects(tmp_path: Path) -> None:
    with Stub() as stub:
        machine = start(tmp_path, stub)
        set_up(machine, "--recall")
        other = machine.root / "other"
        other.mkdir()
        stub.say("Hello.")
        before = len(stub.asked)
        assert machine.tools["claude"].run("Hi.", cwd=other).code == 0
        assert "RECALL" not in text_of(machine, before)
        assert "SQLite" not in text_of(machine, before)


def test_recall_is_absent_in_resumed_copied_spawned_and_asked_sessions(tmp_path: Path) -> None:
    with Stub() as stub:
        machine = start(tmp_path, stub)
        set_up(machine, "--recall")
        claude = machine.tools["claude"]
        (session,) = claude.sessions()
        assert "RECALL" not in run(machine, "And now?", "Now.", resume=session)
        stub.say("Copied.")
        assert claude.run("Copy?", resume=session, options=["--fork-session"]).code == 0
        assert "RECALL" not in text_of(machine, -1)
        stub.say("Spawned.")
        assert claude.start(["-p", "--no-session-persistence"], given="As spawn does.").code == 0
        assert "As spawn does." in text_of(machine, -1)
        assert "RECALL" not in text_of(machine, -1)
        before = len(stub.log)
        machine.ok("ask", session, "Which database?", "--tool", "claude")
        assert len(stub.log) > before
        assert all("RECALL" not in json.dumps(each.body) for each in stub.log[before:])


def test_recall_is_absent_in_sessions_that_start_with_a_briefing(tmp_path: Path) -> None:
    """The slash command brings the conversation; the line `cortext resume --print` does too."""
    with Stub() as stub:
        machine = start(tmp_path, stub)
        machine.ok("init")
        set_up(machine, "--recall")
        claude = machine.tools["claude"]
        key = machine.ok("import", claude.sessions()[0]).split()[-1]
        stub.say("Resumed.")
        before = len(stub.asked)
        assert claude.start(["-p", f"/workspace.resume {key}"]).code == 0
        assert "[RESUMED CONVERSATION]" in text_of(machine, before)
        assert "RECALL" not in text_of(machine, before)
        line = machine.line(key, "--tool", "claude")
        stub.say("Resumed.")
        before = len(stub.asked)
        assert machine.headless(line, "And now?").code == 0
        assert "RECALL" not in text_of(machine, before)


def test_recall_is_in_first_request_after_a_compaction(tmp_path: Path) -> None:
    """One process of Claude Code: a turn, /compact, a turn."""
    with Stub() as stub:
        machine = start(tmp_path, stub)
        set_up(machine, "--recall")
        stub.say("One.", "The summary.", "Three.")
        turns = ("We decided to add an index.", "/compact", "What next?")
        done = stream(machine, *turns)
        assert done.code == 0, done
        first, last = text_of(machine, 1), text_of(machine, -1)
        assert "What next?" in last
        (before,), (after,) = RECALL.finditer(first), RECALL.finditer(last)
        assert "add an index" not in before[0]
        assert "We decided to add an index." in after[0]
        assert before[1] != after[1]
        assert errors(machine) == ""


def test_recall_after_clear_has_the_session_that_was_cleared(tmp_path: Path) -> None:
    with Stub() as stub:
        machine = start(tmp_path, stub)
        set_up(machine, "--recall")
        stub.say("One.", "Two.")
        done = stream(machine, "We decided to add an index.", "/clear", "What next?")
        assert done.code == 0, done
        last = text_of(machine, -1)
        assert "What next?" in last
        (found,) = RECALL.finditer(last)
        assert "We decided to add an index." in found[0]
        assert "Let's use SQLite" in found[0]


def stream(machine: Machine, *prompts: str) -> Done:
    """Several turns in one process."""
    options = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    messages = ({"role": "user", "content": prompt} for prompt in prompts)
    given = "".join(json.dumps({"type": "user", "message": each}) + "\n" for each in messages)
    return machine.tools["claude"].start(options, given=given)
