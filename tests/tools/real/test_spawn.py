"""Turns of `aur spawn` with the real tools: streamed, whole, and nothing is left of them."""

import json
import random
import signal
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from cortext.features.spawn.aurora_settings import load
from cortext.features.spawn.run_agent import AgentFailedError, AgentTurn, Runner, choose_runner
from tests.tools.real.file_fingerprints import prints
from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine
from tests.tools.real.request_messages import of_role
from tests.tools.real.spawn_machine import living, machine
from tests.tools.real.streaming_stub import FailingStub, StreamingStub
from tests.tools.real.stub import Stub
from tests.tools.real.wire import TOKENS_OUT, Call

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
# Which tools keep a session of a turn, whatever they are told.
KEEPING = ("gemini", "opencode")
# Longer than a pipe holds, and than one of its arguments may be.
PROMPT = "What next? 'quotes' $(touch made.txt) 🎉 @../far.txt\n" + "é" * 500_000 + "\nEnd."
FAR = "what stands in a file outside the project"
PATIENCE = 30.0


def pieces(size: int) -> list[str]:
    """An answer of many pieces, no two alike: Gemini CLI stops what repeats itself."""
    random.seed(1)
    words = [f"{random.getrandbits(60):x} ünï" for _ in range(size // 22)]
    return [f"{' '.join(words[n : n + 20])}\n" for n in range(0, len(words), 20)]


def started(name: str, prompt: str, made: Machine) -> AgentTurn:
    runner: Runner = choose_runner(name, None, load())
    return runner.start(prompt, cwd=str(made.project))


def worktree_of(made: Machine) -> dict[str, str]:
    """The person's files. OpenCode keeps its name for a project in `.git`."""
    return {path: it for path, it in prints(made.project).items() if not path.startswith(".git/")}


def none_left(root: Path) -> list[str]:
    end = time.monotonic() + PATIENCE
    while (found := living(root)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("name", FOUR)
def test_spawn_turn_streams_whole_answer_and_leaves_worktree_unchanged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first piece is here before the model said the rest; of a prompt of 1 MB and an answer of
    200 KB nothing is lost; no file that the prompt mentions gets to the model, and the worktree is
    as it was."""
    said = pieces(200_000)
    with StreamingStub(said, hold=2) as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        (made.root / "far.txt").write_text(FAR, encoding="utf-8")
        worktree = worktree_of(made)
        with started(name, PROMPT, made) as turn:
            heard = iter(turn)
            first = next(heard)
            assert not stub.go.is_set()
            stub.go.set()
            rest = "".join(heard)
        assert first + rest == "".join(said)
        assert any(PROMPT in text for text in of_role("user", stub.asked[0]))
        assert not any(FAR in json.dumps(body) for body in stub.asked)
        assert turn.tokens == TOKENS_OUT
        assert worktree_of(made) == worktree
        sessions = made.tools[name].sessions() if name in KEEPING else [""]
        assert sessions == [turn.session]
        assert bool(turn.session) is (name in KEEPING)
        if name not in KEEPING:
            assert made.tools[name].sessions() == []
        assert none_left(made.root) == []


@pytest.mark.parametrize("name", FOUR)
def test_ctrl_c_during_answer_leaves_no_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an answer: the tool, and all that it started."""
    with StreamingStub(["one ", "two ", "three"], hold=1) as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            _interrupted(name, made)
        assert none_left(made.root) == []
        stub.go.set()


def _interrupted(name: str, made: Machine) -> None:
    with started(name, "Count.", made) as turn:
        for piece in turn:
            assert piece == "one "
            assert living(made.root)
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("name", FOUR)
def test_spawn_turn_error_contains_message_of_model_api(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the model's API says is in the error; nothing is taken for an answer."""
    with FailingStub() as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        with pytest.raises(AgentFailedError, match=FailingStub.WHY):
            _all(name, made)
        assert none_left(made.root) == []


def _all(name: str, made: Machine) -> str:
    with started(name, "Hello.", made) as turn:
        return "".join(turn)


WAIT = "tail -f notes.txt"
SHELL = {
    "claude": Call("Bash", {"command": WAIT, "description": "Waits"}),
    "opencode": Call("bash", {"command": WAIT, "description": "Waits"}),
    "gemini": Call("run_shell_command", {"command": WAIT}),
    "codex": Call("exec_command", {"cmd": WAIT}),
}
ALLOW = '[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 200\n'


@pytest.mark.parametrize("name", FOUR)
def test_ctrl_c_ends_command_that_tool_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that the tool runs for the model, in a session of its own, ends with it. That the
    command may run is in the person's settings, where the tool asks."""
    with Stub([SHELL[name], "Done."]) as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        allow(made, name)
        caller = threading.current_thread().ident
        assert caller
        seen = threading.Event()
        watched = (made.root, caller, seen)
        watcher = threading.Thread(target=_interrupt_when_it_runs, args=watched)
        watcher.start()
        with pytest.raises(KeyboardInterrupt):
            _all(name, made)
        watcher.join()
        assert seen.is_set()
        assert none_left(made.root) == []


def allow(made: Machine, name: str) -> None:
    """What a person writes down once."""
    home = made.root / "home"
    if name == "claude":
        (home / ".claude").mkdir(exist_ok=True)
        settings = '{"permissions": {"allow": ["Bash"]}}'
        (home / ".claude/settings.json").write_text(settings, encoding="utf-8")
    elif name == "gemini":
        (home / ".gemini/policies").mkdir(parents=True)
        (home / ".gemini/policies/shell.toml").write_text(ALLOW, encoding="utf-8")


def _interrupt_when_it_runs(root: Path, caller: int, seen: threading.Event) -> None:
    words = WAIT.replace(" ", "\0")
    end = time.monotonic() + 150
    while not seen.is_set() and time.monotonic() < end:
        if any(words in command for command in living(root)):
            seen.set()
        time.sleep(0.05)
    signal.pthread_kill(caller, signal.SIGINT)


@pytest.mark.parametrize("trusted", [False, True])
def test_spawn_runs_claude_project_hooks_only_in_trusted_project(
    trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks and servers of a project run where the person trusts it, and only there; what trusts
    it is not written by us."""
    with StreamingStub(["Yes."]) as stub:
        made = machine(tmp_path, stub, "claude", monkeypatch)
        planted = tmp_path / "root/planted"
        hook = {"hooks": [{"type": "command", "command": f"touch {planted}-hook"}]}
        server = {"command": "/usr/bin/touch", "args": [f"{planted}-server"]}
        write_json(made.project / ".claude/settings.json", {"hooks": {"UserPromptSubmit": [hook]}})
        write_json(made.project / ".mcp.json", {"mcpServers": {"planted": server}})
        state = made.root / "home/.claude.json"
        accepted = {"hasTrustDialogAccepted": True} if trusted else {}
        write_json(state, {"projects": {str(made.project): accepted}})
        assert _all("claude", made) == "Yes."
        assert [path.name for path in sorted(made.root.glob("planted-*"))] == (
            ["planted-hook", "planted-server"] if trusted else []
        )
        projects = json.loads(state.read_bytes())["projects"]
        assert bool(projects[str(made.project)].get("hasTrustDialogAccepted")) is trusted


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


TOUCH = "touch made.txt"
ASKING = {
    "opencode": Call("bash", {"command": TOUCH, "description": "Makes a file"}),
    "codex": Call("exec_command", {"cmd": TOUCH, "sandbox_permissions": "require_escalated"}),
}


@pytest.mark.parametrize("name", ASKING)
def test_spawn_declines_permission_requests_of_tool(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own rules hold: what it would ask a person does not happen, and that is said."""
    with Stub([ASKING[name], "I may not."]) as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        if name == "opencode":
            path = made.root / "home/.config/opencode/opencode.json"
            write_json(path, {**json.loads(path.read_bytes()), "permission": {"bash": "ask"}})
        turn = started(name, "Make a file.", made)
        # OpenCode ends there, and says no more.
        silent = pytest.raises(
            AgentFailedError, match="it did not answer: the tool asked for a permission"
        )
        with silent if name == "opencode" else nullcontext(), turn:
            "".join(turn)
        assert turn.remark.startswith("the tool asked for a permission")
        assert TOUCH in turn.remark
        assert not (made.project / "made.txt").exists()
