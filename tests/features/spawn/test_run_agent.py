"""Running an agent for one turn: real programs, and nothing of them is left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext.errors import CortextError
from cortext.features.spawn.agent_definitions import Agent
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.run_agent import AgentFailedError, AgentTurn, Runner, choose_runner
from cortext.tools import tool_output_parsers
from cortext.tools.claude.headless import ClaudeSpeech
from cortext.tools.launch_plans import LaunchPlan, ToolMissingError
from cortext.tools.registry import find_tool
from cortext.tools.system_processes import find_process
from tests.features.spawn.agent_processes import gone

SETTINGS = SpawnSettings("", 0, 100_000, [])
PATIENCE = 60.0


def python(code: str) -> Runner:
    """An agent that is a Python program."""
    return Runner("agent", words=(sys.executable, "-c", code))


def shell(code: str) -> Runner:
    return Runner("agent", words=("/bin/sh", "-c", code))


def answer(runner: Runner, prompt: str, cwd: Path) -> str:
    with runner.start(prompt, cwd=str(cwd)) as turn:
        return "".join(turn)


def failure(runner: Runner, cwd: Path) -> AgentFailedError:
    with pytest.raises(AgentFailedError) as caught:
        answer(runner, "Hello", cwd)
    return caught.value


def until(holds: Callable[[], bool]) -> bool:
    """Whether something holds before our patience ends."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_agent_receives_exact_prompt_and_returns_exact_answer(tmp_path: Path) -> None:
    """All of it, as it is, in the folder that was given."""
    runner = shell("pwd; cat")
    assert answer(runner, "ünï 🎉\n$(x)", tmp_path) == f"{tmp_path.resolve()}\nünï 🎉\n$(x)"


def test_agent_handles_large_prompt_and_answer_without_deadlock(tmp_path: Path) -> None:
    """A program that writes while it reads, and one that reads all first: neither waits for us."""
    prompt = "".join(f"line {number} ünï\n" for number in range(70_000))
    assert len(prompt.encode()) > 1_000_000
    assert answer(shell("cat"), prompt, tmp_path) == prompt
    slow = "import sys; data = sys.stdin.read(); sys.stdout.write(data)"
    assert answer(python(slow), prompt, tmp_path) == prompt


def test_answer_streams_and_joins_split_characters(tmp_path: Path) -> None:
    """The first is here while the program still waits; a character cut in two is one."""
    code = (
        "import os, time\n"
        "os.write(1, b'one \\xc3')\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "os.write(1, b'\\xbc two')\n"
    )
    with python(code).start("", cwd=str(tmp_path)) as turn:
        pieces = iter(turn)
        assert next(pieces) == "one "
        (tmp_path / "go").touch()
        assert "".join(pieces) == "ü two"
    assert turn.tokens is None


def test_answer_counts_when_agent_does_not_read_prompt(tmp_path: Path) -> None:
    """Its answer counts, however much of the prompt is left."""
    assert answer(shell("exec <&-; echo yes"), "x" * 1_000_000, tmp_path) == "yes\n"


def test_turn_waits_for_agent_that_runs_after_closing_output(tmp_path: Path) -> None:
    """It is waited for, also if it complains at length meanwhile and reads to the end."""
    code = "echo yes; exec >&-; head -c 300000 /dev/zero >&2; cat >/dev/null; touch done"
    assert answer(shell(code), "x" * 300_000, tmp_path) == "yes\n"
    assert (tmp_path / "done").exists()


def test_turn_ends_children_that_hold_output_open(tmp_path: Path) -> None:
    """When the program has ended the answer is whole, and its children are ended too."""
    code = "sleep 300 & echo $! > pid; echo yes"
    assert answer(shell(code), "", tmp_path) == "yes\n"
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    assert until(lambda: gone(pid))


def test_failed_turn_reports_exit_code_and_end_of_stderr(tmp_path: Path) -> None:
    """The error has the exit code and the end of what it complained about."""
    error = failure(shell("echo half; seq 100000 >&2; echo broken >&2; exit 3"), tmp_path)
    assert error.code == 3
    assert "agent failed (exit code 3)" in str(error)
    assert str(error).endswith("99999\n100000\nbroken")
    assert len(str(error)) < 5000


def test_failed_turn_shows_stderr_without_colours(tmp_path: Path) -> None:
    """Its words are shown, not its colours."""
    error = failure(shell("printf '\\033[31mbroken\\033[0m\\n' >&2; exit 1"), tmp_path)
    assert error.why == "broken"


@pytest.mark.parametrize("code", ["true", "echo; echo '  '", "cat >/dev/null"])
def test_empty_answer_fails_turn(code: str, tmp_path: Path) -> None:
    """Blanks alone are no answer."""
    assert failure(shell(code), tmp_path).why == "it did not answer"


def test_killed_agent_fails_turn(tmp_path: Path) -> None:
    """Half an answer is none."""
    assert failure(shell("echo half; kill -9 $$"), tmp_path).code == -signal.SIGKILL


def test_missing_folder_fails_turn(tmp_path: Path) -> None:
    """One sentence, no traceback."""
    error = failure(shell("echo yes"), tmp_path / "gone")
    assert "could not be started: no such file or directory" in str(error)


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
{more}
with open(sys.argv[1] + ".new", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(300)
"""


def family(tmp_path: Path) -> Runner:
    """A shell that ignores signals, with a child that does, and one in a session of its own."""
    for name, more in (("same", ""), ("own", "os.setsid()")):
        (tmp_path / f"{name}.py").write_text(STUBBORN.format(more=more), encoding="utf-8")
    start = " ".join(f"{sys.executable} {name}.py {name}.pid &" for name in ("same", "own"))
    wait = "while ! [ -e same.pid ] || ! [ -e own.pid ]; do sleep 0.01; done"
    return shell(f"trap '' TERM INT; {start} {wait}; echo $$ > shell.pid; echo go; sleep 300")


def interrupted(runner: Runner, cwd: Path, also: Callable[[], None] = lambda: None) -> None:
    """A turn with Ctrl+C after its first piece."""
    with runner.start("", cwd=str(cwd)) as turn:
        for _ in turn:
            also()
            os.kill(os.getpid(), signal.SIGINT)


def left(tmp_path: Path) -> list[str]:
    names = ("same", "own", "shell")
    pids = {name: int((tmp_path / f"{name}.pid").read_text(encoding="utf-8")) for name in names}
    return [name for name, pid in pids.items() if not until(lambda pid=pid: gone(pid))]


@pytest.mark.needs("/proc/self/exe", "to see processes")
def test_ctrl_c_ends_agent_and_all_its_processes(tmp_path: Path) -> None:
    """Ctrl+C in the middle: the program, its child that ignores signals, and one that left the
    group; and it is Ctrl+C that the caller gets."""
    with pytest.raises(KeyboardInterrupt):
        interrupted(family(tmp_path), tmp_path)
    assert left(tmp_path) == []


@pytest.mark.needs("/proc/self/exe", "to see processes")
def test_second_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    """An impatient person leaves no process behind either."""
    main = threading.main_thread().ident
    assert main
    again = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupted(family(tmp_path), tmp_path, again.start)
    again.join()
    assert left(tmp_path) == []


def bombarded(folder: Path) -> None:
    """A turn with very many Ctrl+C; ends with 0 if it was Ctrl+C that the caller got."""
    code = (
        "import os, signal, sys, time\n"
        "for _ in range(400):\n"
        "    os.kill(int(sys.argv[1]), signal.SIGINT)\n"
        "    time.sleep(0.0005)\n"
    )
    caught = False

    def start() -> None:
        subprocess.Popen([sys.executable, "-c", code, str(os.getpid())]).wait(PATIENCE)

    while True:
        # They come anywhere, also when the turn is over.
        try:
            if not caught:
                interrupted(family(folder), folder, start)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            break
        except KeyboardInterrupt:
            caught = True
    os._exit(0 if caught else 1)


@pytest.mark.needs("/proc/self/exe", "to see processes")
def test_many_ctrl_c_leave_no_process(tmp_path: Path) -> None:
    """However fast they come; it is Ctrl+C that the caller gets."""
    # In a process of its own: here one that comes late would end the tests.
    process = multiprocessing.get_context("spawn").Process(target=bombarded, args=(tmp_path,))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert left(tmp_path) == []


def stopped(runner: Runner, cwd: Path, pids: list[int]) -> None:
    """A turn whose first piece is the number of its process, and the last thing that is wanted."""
    with runner.start("", cwd=str(cwd)) as turn:
        for piece in turn:
            pids.append(int(piece))
            raise KeyboardInterrupt


def test_sigterm_during_shutdown_is_raised_after_agent_ended(tmp_path: Path) -> None:
    """The program is ended first; then it is raised, in the place of Ctrl+C."""

    class EndedError(Exception):
        pass

    def end(number: int, frame: object) -> None:
        raise EndedError

    code = "trap 'kill -TERM $PPID; kill -TERM $PPID' TERM; echo $$; while :; do sleep 0.01; done"
    before = signal.signal(signal.SIGTERM, end)
    pids: list[int] = []
    try:
        with pytest.raises(EndedError):
            stopped(shell(code), tmp_path, pids)
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert gone(pids[0])


@pytest.mark.parametrize("code", ["yes", "yes | tr -d '\\n'", "cat /dev/zero"])
def test_endless_answer_fails_turn_and_ends_agent(tmp_path: Path, code: str) -> None:
    """It fails when it is longer than can be kept, and the program is ended."""
    error = failure(shell(f"echo $$ > pid; exec {code}"), tmp_path)
    assert error.why == "its answer is longer than 64 MB"
    assert gone(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_endless_line_fails_turn_with_tool_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails by the tool's name, as anything that it does wrong."""
    monkeypatch.setattr(tool_output_parsers, "_LONGEST_LINE", 1 << 20)
    plan = LaunchPlan("", ("/bin/sh", "-c", "exec cat /dev/zero"), str(tmp_path))
    with pytest.raises(
        AgentFailedError, match="claude failed: the tool wrote a line of more than 1 MB"
    ):
        have(AgentTurn("claude", plan, ClaudeSpeech(), ""))


def have(turn: AgentTurn) -> None:
    with turn:
        list(turn)


def test_leaving_turn_early_ends_agent(tmp_path: Path) -> None:
    """Also without an error: who leaves the block wants no more of it."""
    with shell("echo $$; sleep 300").start("", cwd=str(tmp_path)) as turn:
        pid = int(next(iter(turn)))
        assert find_process(pid)
    assert gone(pid)


def test_agent_inherits_no_open_files(tmp_path: Path) -> None:
    """The agent has stdin, stdout and stderr, not the lock of a session."""
    with open(tmp_path / "lock", "w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        said = answer(shell("ls -l /proc/self/fd"), "", tmp_path)
    assert "pipe:" in said
    assert str(tmp_path / "lock") not in said


def test_agent_runs_in_its_own_session(tmp_path: Path) -> None:
    """It runs in a session of its own: Ctrl+C is ours to hand on."""
    said = answer(python("import os; print(os.getsid(0) == os.getpid())"), "", tmp_path)
    assert said == "True\n"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A PATH on which only these programs are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("AURORA_SPAWN_TOOL", raising=False)

    def make(*names: str) -> None:
        for name in names:
            (folder / name).write_text("#!/bin/sh\ncat\n", encoding="utf-8")
            (folder / name).chmod(0o755)

    return make


def test_choose_runner_follows_order_of_precedence(
    tools: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is given, the environment, the setting, the agent's own, the first installed."""
    tools("claude", "codex", "gemini", "opencode", "my-llm")
    agent = Agent("a", "", "", tool="gemini", model="m-1", model_of="gemini")
    chosen = [choose_runner(None, None, SETTINGS), choose_runner(None, agent, SETTINGS)]
    with_setting = SETTINGS._replace(tool="my-llm --stream 'a b'")
    chosen.append(choose_runner(None, agent, with_setting))
    monkeypatch.setenv("AURORA_SPAWN_TOOL", "codex")
    chosen.append(choose_runner(None, agent, with_setting))
    chosen.append(choose_runner("opencode", agent, with_setting))
    assert [each.name for each in chosen] == ["claude", "gemini", "my-llm", "codex", "opencode"]
    assert chosen[2].words[1:] == ("--stream", "a b")
    assert [each.model for each in chosen] == ["", "m-1", "", "", ""]


def test_choose_runner_hints_install_of_missing_tool(tools: Callable[..., None]) -> None:
    """One sentence, and how to install it."""
    tools("codex")
    with pytest.raises(ToolMissingError, match="claude is not installed") as caught:
        choose_runner("claude", None, SETTINGS)
    assert find_tool("claude").package in caught.value.hint


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-llm --x", "program not found: no-such-llm"),
        ("my-llm 'a", "no closing quotation"),
        ("''", "program not found"),
    ],
)
def test_choose_runner_rejects_invalid_command(
    command: str, said: str, tools: Callable[..., None]
) -> None:
    """One sentence, before anything starts."""
    tools("my-llm")
    with pytest.raises(CortextError, match=said):
        choose_runner(command, None, SETTINGS)


def test_custom_command_runs_without_shell(tmp_path: Path, tools: Callable[..., None]) -> None:
    """What a shell would run is a word like any other."""
    tools()
    (tmp_path / "bin/args").write_text('#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8")
    (tmp_path / "bin/args").chmod(0o755)
    runner = choose_runner("args $(touch x) ; 'a b' > y", None, SETTINGS)
    assert answer(runner, "", tmp_path) == "$(touch|x)|;|a b|>|y|"
    assert not (tmp_path / "x").exists()


def test_choose_runner_falls_back_to_echo_when_no_tool_is_installed(
    tmp_path: Path, tools: Callable[..., None]
) -> None:
    """An echo says so, how to change it, and what was said: not the whole prompt."""
    tools()
    runner = choose_runner(None, None, SETTINGS)
    with runner.start("context\n\nHello", cwd=str(tmp_path), message="Hello") as turn:
        said = "".join(turn)
    assert runner.name == "echo"
    assert f"npm install -g {find_tool('claude').package}" in said
    assert said.endswith("\n\nYou said: Hello")
    assert "context" not in said
