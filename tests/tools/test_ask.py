"""`cortext ask` with the real tools: an answer, and nothing else changes."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.tools.four import FOUR, OpenCode
from tests.tools.launch import Tool
from tests.tools.machine import Machine, missing
from tests.tools.record import repository
from tests.tools.spoken import of_role
from tests.tools.stub import Stub
from tests.tools.wire import Call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
WRITE = {
    "claude": Call("Write", {"file_path": "{project}/made.txt", "content": "x"}),
    "opencode": Call("write", {"filePath": "{project}/made.txt", "content": "x"}),
    "gemini": Call("write_file", {"file_path": "{project}/made.txt", "content": "x"}),
    "codex": Call("exec_command", {"cmd": "touch made.txt"}),
}
BEGUN = "Please write made.txt for me, and commit it."
PENDING = "I will do that as soon as you say so."
# Longer than one argument may be, and full of what shells and parsers stumble over.
QUESTION = (
    'What did I ask? "quotes" $(touch made.txt) `touch made.txt` \\ -p --fork\n' + "é" * 70_000
)


def prints(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", FOUR)
def test_a_question_changes_nothing(name: str, tmp_path: Path) -> None:
    """The whole question reaches the model after what was said; the model may ask for tools as it
    likes: the worktree and the tool's session stay as they were."""
    with Stub([PENDING], aside="You asked for a file.") as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        tool = machine.tools[name]
        repository(machine.project)
        assert tool.run(BEGUN).code == 0
        (id,) = tool.sessions()
        call = WRITE[name]
        given = {k: str(v).format(project=machine.project) for k, v in call.input.items()}
        stub.say(*[Call(call.name, given)] * 3, "You asked for a file.")
        worktree, transcripts = prints(machine.project), transcripts_of(tool)
        answer = machine.ok("ask", id, "-", given=QUESTION)
        assert answer == "You asked for a file.\n"
        asked = [
            r.body for r in stub.log if r.body and QUESTION in "".join(of_role("user", r.body))
        ]
        assert (
            missing([("user", BEGUN), ("assistant", PENDING), ("user", QUESTION)], asked[0]) == []
        )
        assert prints(machine.project) == worktree
        assert {path: transcripts_of(tool).get(path) for path in transcripts} == transcripts
        if name != "opencode":
            assert tool.sessions() == [id]


def transcripts_of(tool: Tool) -> dict[str, str]:
    """The files that are conversations of a tool, or its first session as it exports it."""
    if isinstance(tool, OpenCode):
        (first, *_) = tool.sessions()
        value = json.loads(tool.start(["export", first]).stdout)
        return {first: json.dumps(value["messages"], sort_keys=True)}
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in tool.transcripts()}
