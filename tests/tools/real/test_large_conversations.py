"""Large conversations through `cortext resume` and `import`, with the real tools: nothing is cut
where a pipe or an argument would cut it, and what a budget leaves out is said."""

import re
from pathlib import Path

import pytest

from cortext import SessionMessage, open_session_store
from tests.tools.real.machine import Machine, kept, missing, times_told
from tests.tools.real.record import Said, repository
from tests.tools.real.request_messages import spoken
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
ONE_ARGUMENT = 131_072
NEXT = "And now?"


def begun(machine: Machine, said: Said) -> str:
    """A conversation of a workspace in which this was said; its id."""
    repository(machine.project)
    machine.ok("init")
    made = Path(machine.ok("new", "plan", "Speed").strip()).parent
    messages = [SessionMessage(role, text) for role, text in said]  # type: ignore[arg-type]
    open_session_store(f"workspace:{machine.project}").append(made.name, *messages)
    return made.name


def talk(count: int, more: str = "") -> Said:
    return [
        (role, f"{role} says number {number}.{more}")
        for number in range(count // 2)
        for role in ("user", "assistant")
    ]


def test_resume_sends_all_1000_messages_to_model(tool_name: str, tmp_path: Path) -> None:
    """All of them reach the model, once and in order; none is in an argument."""
    said = talk(1000)
    with Stub(["Going on."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[tool_name])
        key = begun(machine, said)
        line = machine.line(key, "--tool", tool_name)
        assert sum(map(len, line.words)) < 300, line.words
        done = machine.headless(line, NEXT)
        assert (done.code, done.stdout) == (0, "Going on.\n"), done
        assert missing([*said, ("user", NEXT)], stub.asked[0]) == []
        assert [text for _, text in said if times_told(text, stub.asked[0]) != 1] == []


def test_resume_of_two_megabytes_names_messages_left_out(tool_name: str, tmp_path: Path) -> None:
    """The first request and the latest ones whole; of the others what shows them, and that
    command does."""
    said = talk(400, " long" * 1000)
    with Stub(["Going on."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[tool_name])
        key = begun(machine, said)
        done = machine.headless(machine.line(key, "--tool", tool_name), NEXT)
        assert (done.code, done.stdout) == (0, "Going on.\n"), done
        assert missing([said[0], *said[-6:], ("user", NEXT)], stub.asked[0]) == []
        told = "\n".join(text for _, text in spoken(stub.asked[0]))
        assert "[omitted] message 3 and 1 after it" in told
        (command,) = set(re.findall(r"cortext (show \S+ --message 3)\b", told))
        assert said[2][1] in machine.ok(*command.split())


def test_message_longer_than_argument_is_imported_and_resumed_whole(
    tool_name: str, tmp_path: Path
) -> None:
    """Said in a tool, it is imported whole, shown whole, and told whole when it is resumed."""
    text = "Read this: " + "é \"$(x)\" 'y' `z`\\ " * 9_000
    assert len(text.encode()) > ONE_ARGUMENT
    with Stub(["Hello.", "I have read it.", "Going on."]) as stub:
        machine = Machine(tmp_path / "root", stub, tools=[tool_name])
        tool = machine.tools[tool_name]
        repository(machine.project)
        assert tool.run("A long text comes.").code == 0
        words, _ = tool.turn("", tool.sessions()[0])
        # No argument can have it: stdin has it, in Gemini CLI too.
        done = tool.start(words[2:] if tool_name == "gemini" else words, given=text)
        assert (done.code, done.stdout) == (0, "I have read it.\n"), done
        machine.ok("init")
        machine.ok("import", tool.sessions()[0])
        first, hello, (role, content), answer = kept(machine)
        assert (role, content.strip()) == ("user", text.strip())
        assert answer == ("assistant", "I have read it.")
        assert text.strip() in machine.ok("show", "long text", "--message", "3")
        done = machine.headless(machine.line("long text", "--tool", tool_name), NEXT)
        assert (done.code, done.stdout) == (0, "Going on.\n"), done
        assert missing([first, hello, ("user", text.strip()), answer], stub.asked[-1]) == []
