"""The loop of the REPL, in this process: signals and failures at moments that a terminal cannot
hit."""

import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.cli.repl import repl_loop
from cortext.cli.repl.repl_loop import run
from cortext.features.spawn.agent_definitions import Agent
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.run_agent import Runner
from cortext.stores.log import LogStore

SETTINGS = SpawnSettings("", 0, 100_000, [])
CAT = Runner("cat", words=("/bin/sh", "-c", "tail -n 1"))
CODEX = """
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    method = event.get("method")
    if method == "initialize" or method == "thread/start":
        print(json.dumps({"id": event["id"], "result": {"thread": {"id": "t"}}}), flush=True)
    elif method == "turn/start":
        print(json.dumps({"id": 99, "method": "item/commandExecution/requestApproval",
                          "params": {"command": "rm x"}}), flush=True)
    elif event.get("id") == 99:
        said = {"item": {"type": "agentMessage", "id": "i", "text": "not done"}}
        print(json.dumps({"method": "item/completed", "params": said}), flush=True)
        end = {"turn": {"status": "completed"}}
        print(json.dumps({"method": "turn/completed", "params": end}), flush=True)
"""


class Typed(io.TextIOWrapper):
    """Lines of somebody at a terminal."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))

    def isatty(self) -> bool:
        return True


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Say these lines in a new session `s`; the exit code."""

    def begin(*lines: str, runner: Runner = CAT) -> int:
        monkeypatch.setattr(sys, "stdin", Typed(lines))
        session = SpawnSession.begin("default", id="s")
        return run(session, runner, Agent("default", "", ""), SETTINGS, str(tmp_path))

    return begin


def store() -> LogStore:
    return LogStore(paths.spawn_sessions())


def said(id: str = "s") -> list[str]:
    return [turn.content for turn in store().read(id).session.messages]


def status(id: str = "s") -> str:
    return store().head(id).status


def with_signal(method: Callable[..., Any], number: int) -> Callable[..., Any]:
    """A method during which a signal comes."""

    def wrapped(*args: Any, **given: Any) -> Any:
        found = method(*args, **given)
        os.kill(os.getpid(), number)
        return found

    return wrapped


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGHUP, 129)])
def test_exit_completes_session_when_signal_arrives_during_close(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """Whatever comes while it ends."""
    monkeypatch.setattr(SpawnSession, "close", with_signal(SpawnSession.close, number))
    assert (talk("one", "/exit"), status()) == (code, "completed")


def test_exit_completes_session_when_output_pipe_is_broken(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is completed all the same."""

    def broken(text: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(repl_loop, "tell", broken)
    with pytest.raises(BrokenPipeError):
        talk("one", "/exit")
    assert (status(), said()) == ("completed", ["one", "one"])


def test_interrupt_during_save_keeps_both_turns(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both turns are kept, so nothing was interrupted."""
    monkeypatch.setattr(SpawnSession, "keep", with_signal(SpawnSession.keep, signal.SIGINT))
    assert talk("one", "two") == 0
    assert said() == ["one", "one", "two", "two"]
    assert "Interrupted" not in capsys.readouterr().err


def test_interrupt_during_save_ends_script_without_terminal(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no prompt to return to."""
    monkeypatch.setattr(Typed, "isatty", lambda self: False)
    monkeypatch.setattr(SpawnSession, "keep", with_signal(SpawnSession.keep, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        talk("one", "two")
    assert (said(), status()) == (["one", "one"], "paused")


def test_interrupt_during_error_message_returns_to_prompt(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prompt comes again."""
    tell_error = repl_loop.tell_error

    def interrupted(error: Any) -> None:
        tell_error(error)
        raise KeyboardInterrupt

    monkeypatch.setattr(repl_loop, "tell_error", interrupted)
    assert talk("/history x", "one") == 0
    assert said() == ["one", "one"]


def test_interrupt_during_fork_continues_in_fork(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said next goes on in the fork."""
    monkeypatch.setattr(SpawnSession, "fork", with_signal(SpawnSession.fork, signal.SIGINT))
    assert talk("one", "/fork", "two") == 0
    (fork,) = (id for id in store().list_session_ids() if id != "s")
    assert (said(), status()) == (["one", "one"], "paused")
    assert (said(fork), status(fork)) == (["one", "one", "two", "two"], "completed")


def test_interrupt_during_resume_continues_in_resumed_session(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said next goes on in that one."""
    SpawnSession.begin("default", id="other").close(completed=True)
    monkeypatch.setattr(SpawnSession, "reopen", with_signal(SpawnSession.reopen, signal.SIGINT))
    monkeypatch.setenv("AURORA_SPAWN_TOOL", "tail -n 1")
    assert talk("one", "/resume other", "two") == 0
    assert (said(), status()) == (["one", "one"], "paused")
    assert (said("other"), status("other")) == (["two", "two"], "completed")


def test_resume_stays_in_session_when_tool_of_other_is_missing(
    talk: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The REPL stays where it is, and the other as it was."""
    SpawnSession.begin("default", id="other").close(completed=True)
    monkeypatch.setenv("AURORA_SPAWN_TOOL", "no-such-program")
    assert talk("one", "/resume other", "two") == 0
    assert (status("other"), said("other")) == ("completed", [])
    assert said() == ["one", "one", "two", "two"]


def test_repl_prints_note_for_denied_permission_request(
    talk: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A permission that a tool asked for and did not get."""
    program = tmp_path / "codex"
    program.write_text(f"#!{sys.executable}\n{CODEX}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert talk("do it", runner=Runner("codex", "codex")) == 0
    assert said() == ["do it", "not done"]
    assert "note: the tool asked for a permission" in capsys.readouterr().err
