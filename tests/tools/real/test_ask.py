"""`cortext ask` with the real tools: an answer, and nothing else changes."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.tools.real.file_fingerprints import prints
from tests.tools.real.four_tools import FOUR, OpenCode
from tests.tools.real.launch import Tool
from tests.tools.real.machine import Machine, missing
from tests.tools.real.record import repository
from tests.tools.real.request_messages import of_role
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
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
SERVER = "import sys; open(sys.argv[1], 'w').close(); sys.stdin.read()"


def server(ran: Path) -> list[str]:
    return [sys.executable, "-c", SERVER, str(ran / "server")]


def of_claude(ran: Path) -> dict[str, str]:
    return {".claude/settings.json": json.dumps({"hooks": hooks(ran, "UserPromptSubmit", "Stop")})}


def of_gemini(ran: Path) -> dict[str, str]:
    program, *words = server(ran)
    settings = {
        "hooks": hooks(ran, "SessionStart", "BeforeAgent", "AfterAgent"),
        "mcpServers": {"one": {"command": program, "args": words}},
        "tools": {"discoveryCommand": f"touch {ran}/discovery"},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def of_opencode(ran: Path) -> dict[str, str]:
    one = {"type": "local", "command": server(ran), "enabled": True}
    load = "import {writeFileSync} from 'fs'\nwriteFileSync('%s', '')\n"
    plug_in = f"{load % (ran / 'plug-in')}export const One = async () => ({{}})\n"
    return {
        "opencode.json": json.dumps({"mcp": {"one": one}}),
        ".opencode/plugin/one.js": plug_in,
        ".opencode/plugins/two.js": plug_in,
    }


def of_codex(ran: Path) -> dict[str, str]:
    program, *words = server(ran)
    text = f"""notify = ["touch", "{ran}/notify"]

[mcp_servers.one]
command = {json.dumps(program)}
args = {json.dumps(words)}
"""
    started = json.dumps({"hooks": hooks(ran, "SessionStart", "UserPromptSubmit", "Stop")})
    return {".codex/config.toml": text, ".codex/hooks.json": started}


def hooks(ran: Path, *events: str) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    return {e: [{"hooks": [{"type": "command", "command": f"touch {ran}/{e}"}]}] for e in events}


SETTINGS = {"claude": of_claude, "opencode": of_opencode, "gemini": of_gemini, "codex": of_codex}
# Longer than one argument may be, and full of what shells and parsers stumble over.
QUESTION = (
    'What did I ask? "quotes" $(touch made.txt) `touch made.txt` \\ -p --fork\n' + "é" * 70_000
)


@pytest.mark.parametrize("name", FOUR)
def test_ask_leaves_worktree_and_tool_session_unchanged(name: str, tmp_path: Path) -> None:
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
        assert tool.sessions() == [id]


@pytest.mark.parametrize("name", SETTINGS)
def test_ask_runs_no_hook_or_server_of_project_settings(name: str, tmp_path: Path) -> None:
    """Hooks, plug-ins, servers and discovery that a project's own settings name do not run while
    an old conversation is asked; in a turn that a person has there they do."""
    with Stub(["There it is."], aside="You asked for a file.") as stub:
        machine = Machine(tmp_path / "root", stub, tools=[name])
        tool, ran = machine.tools[name], tmp_path / "ran"
        ran.mkdir()
        repository(machine.project)
        assert tool.run(BEGUN).code == 0
        (id,) = tool.sessions()
        for path, text in SETTINGS[name](ran).items():
            (machine.project / path).parent.mkdir(parents=True, exist_ok=True)
            (machine.project / path).write_text(text, encoding="utf-8")
        stub.say("You asked for a file.")
        assert machine.ok("ask", id, "-", given="What did I ask?") == "You asked for a file.\n"
        assert [path.name for path in ran.iterdir()] == []
        assert tool.sessions() == [id]
        stub.say("You did.")
        # With all plug-ins OpenCode looks for packages first, which takes minutes.
        tool.extra |= {"OPENCODE_PURE": "1"}
        tool.run("Did I?")
        assert [path.name for path in ran.iterdir()] != []


def test_ask_works_in_gemini_when_only_project_is_trusted(tmp_path: Path) -> None:
    """A question is asked in an empty folder of ours, which no file of trust speaks of; none does
    afterwards."""
    with Stub([PENDING], aside="You asked for a file.") as stub:
        machine = Machine(tmp_path / "root", stub, tools=["gemini"])
        tool = machine.tools["gemini"]
        trust = tool.home / ".gemini/trustedFolders.json"
        trust.write_text(json.dumps({str(machine.project): "TRUST_FOLDER"}), encoding="utf-8")
        path = tool.home / ".gemini/settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings["security"]["folderTrust"] = {"enabled": True}
        path.write_text(json.dumps(settings), encoding="utf-8")
        tool.extra |= {"GEMINI_CLI_TRUST_WORKSPACE": ""}
        other = tmp_path / "root/other"
        other.mkdir()
        assert "trusted directory" in tool.run("Hello.", cwd=other).stderr
        assert tool.run(BEGUN).code == 0
        (id,) = tool.sessions()
        before = trust.read_bytes(), path.read_bytes()
        stub.say("You asked for a file.")
        assert machine.ok("ask", id, "-", given="What did I ask?") == "You asked for a file.\n"
        assert (trust.read_bytes(), path.read_bytes()) == before


def transcripts_of(tool: Tool) -> dict[str, str]:
    """The files that are conversations of a tool, or its first session as it exports it."""
    if isinstance(tool, OpenCode):
        (first, *_) = tool.sessions()
        value = json.loads(tool.start(["export", first]).stdout)
        return {first: json.dumps(value["messages"], sort_keys=True)}
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in tool.transcripts()}
