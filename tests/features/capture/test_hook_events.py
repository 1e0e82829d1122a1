"""What the tools call: it keeps what was said, it never fails the tool, it says almost nothing."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cortext import paths
from cortext.features.capture.bindings import find_binding
from cortext.features.capture.hook_events import hook
from cortext.features.capture.pending_bindings import bind_process, find_pending, resolve_pending
from cortext.tools.mcp_server_names import mcp_servers
from cortext.tools.registry import tool_names
from cortext.tools.running_sessions import live_sessions, note_running
from cortext.tools.system_processes import find_process
from tests.command import SCRIPT, cortext, git, head_of, ok
from tests.features.capture.hook_payloads import payload_of
from tests.features.capture_bench import Bench

SESSION = "5e0c9d1e-aaaa-4bbb-8ccc-0123456789ab"


@pytest.fixture
def hook_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Bench:
    made = Bench("claude", tmp_path, monkeypatch)
    git(Path(made.workspace.root), "init", "-q", "-b", "main")
    made.bind()
    return made


class Called:
    """The real program, as Claude Code starts it."""

    def __init__(self, event: str, payload: dict[str, Any] | str) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as stdin:
            stdin.write(payload if isinstance(payload, str) else json.dumps(payload))
            stdin.seek(0)
            self.process = subprocess.Popen(
                [SCRIPT, "hook", "claude", event],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )

    def end(self) -> tuple[int, bytes, bytes]:
        """Its exit code, and all that it said."""
        told = self.process.communicate(timeout=60)
        return self.process.returncode, *told


QUIET = (0, b"", b"")


def test_closing_phrase_pauses_and_commits_conversation(hook_bench: Bench) -> None:
    """Saved, paused, committed; what the agent says to it leaves no change behind, and the
    conversation goes on when the person does."""
    told = hook(
        "claude", "UserPromptSubmit", payload_of(hook_bench, prompt="Let's stop here, thanks!")
    )
    context = told["hookSpecificOutput"]["additionalContext"]
    assert (told["hookSpecificOutput"]["hookEventName"], "one line" in context) == (
        "UserPromptSubmit",
        True,
    )
    assert hook_bench.said() == hook_bench.expected
    assert (hook_bench.head()["status"], hook_bench.head()["stop_reason"]) == ("paused", "user")
    root = Path(hook_bench.workspace.root)
    assert git(root, "log", "--format=%s").startswith("Save session state: ")
    before = hook_bench.files
    hook_bench.say("user", "Let's stop here, thanks!", 1)
    hook_bench.say("assistant", "Saved. See you!", 2)
    for event in ("Stop", "SessionEnd"):
        assert hook("claude", event, payload_of(hook_bench)) == {}
    assert hook_bench.files == before
    assert git(root, "diff", "--name-only", "HEAD") == ""
    hook_bench.say("user", "One more thing: why hourly?", 3)
    hook("claude", "UserPromptSubmit", payload_of(hook_bench, prompt="One more thing: why hourly?"))
    assert hook_bench.head()["status"] == "active"
    texts = [text for _, text in hook_bench.said()[len(hook_bench.expected) :]]
    assert texts == ["Let's stop here, thanks!", "Saved. See you!", "One more thing: why hourly?"]


def test_closing_phrase_outside_a_conversation_does_nothing(hook_bench: Bench) -> None:
    """A session that is bound to nothing: no word, no file but who runs it."""
    before = hook_bench.files
    other = {"session_id": SESSION, "prompt": "Let's stop here."}
    assert hook("claude", "UserPromptSubmit", other) == {}
    assert hook("claude", "Stop", {"session_id": SESSION}) == {}
    assert hook_bench.files == before


def test_next_hook_captures_answer_written_after_stop_hook(hook_bench: Bench) -> None:
    """Claude Code may call at Stop before the line is there: it is taken once, later."""
    hook_bench.say("user", "Quick?", 1)
    hook("claude", "Stop", payload_of(hook_bench, last_assistant_message="Quick."))
    assert hook_bench.said()[-1] == ["user", "Quick?"]
    hook_bench.say("assistant", "Quick.", 2)
    hook("claude", "SessionEnd", payload_of(hook_bench, reason="other"))
    hook("claude", "SessionEnd", payload_of(hook_bench, reason="other"))
    assert hook_bench.said() == [*hook_bench.expected, ["user", "Quick?"], ["assistant", "Quick."]]


def test_concurrent_hooks_capture_each_message_once(hook_bench: Bench) -> None:
    """Eight processes, the transcript growing meanwhile: all is there, nothing twice."""
    for number in range(1, 9):
        hook_bench.say("user" if number % 2 else "assistant", f"Text {number}", number)
    half = hook_bench.transcript.read_bytes()
    hook_bench.write([b"".join(hook_bench.lines)])
    processes = [Called("Stop", payload_of(hook_bench)) for _ in range(4)]
    hook_bench.append(half[len(b"".join(hook_bench.lines)) :])
    processes += [Called("Stop", payload_of(hook_bench)) for _ in range(4)]
    assert [process.end() for process in processes] == [QUIET] * 8
    assert [text for _, text in hook_bench.said()[-8:]] == [f"Text {n}" for n in range(1, 9)]
    ids = [message["id"] for message in hook_bench.messages()]
    assert len(set(ids)) == len(ids)
    assert not os.path.exists(paths.log_file())


def test_next_hook_captures_messages_of_killed_hook(hook_bench: Bench) -> None:
    """kill -9 at many moments: every line that is there can be read, and in the end all are."""
    for number in range(1, 13):
        hook_bench.say("user" if number % 2 else "assistant", f"Text {number}", number)
        called = Called("Stop", payload_of(hook_bench))
        time.sleep(0.02 * number)
        called.process.send_signal(signal.SIGKILL)
        called.end()
    assert Called("Stop", payload_of(hook_bench)).end() == QUIET
    assert [text for _, text in hook_bench.said()[-12:]] == [f"Text {n}" for n in range(1, 13)]
    ids = [message["id"] for message in hook_bench.messages()]
    assert len(set(ids)) == len(ids)
    hook_bench.workspace.store.load(hook_bench.bound.place.name)


@pytest.mark.parametrize("given", ["", "{", "[1]", '{"session_id": 7}', "\x00", "null"])
def test_hook_exits_zero_on_invalid_payload(given: str) -> None:
    """Exit code 0 and no word; what is wrong stands in the log of errors."""
    assert Called("Stop", given).end() == QUIET
    log = Path(paths.log_file())
    wrong = given in ("{", "[1]", "\x00", "null")
    assert (log.exists() and "hook claude Stop" in log.read_text(encoding="utf-8")) == wrong


def test_hook_exits_zero_when_session_json_is_damaged(hook_bench: Bench) -> None:
    """A head that is no JSON: the tool goes on, the log names the file, the file stays."""
    Path(hook_bench.bound.place.head).write_bytes(b"{")
    assert Called("Stop", payload_of(hook_bench)).end() == QUIET
    assert Path(hook_bench.bound.place.head).read_bytes() == b"{"


def test_error_log_size_is_bounded() -> None:
    """However often something goes wrong."""
    from cortext.features.errors_log import last_errors, write_error

    for number in range(600):
        write_error("hook claude Stop", ValueError(f"{number} {'x' * 900}"))
    assert os.stat(paths.log_file()).st_size < 400_000
    assert last_errors(1)[0].split(": ")[2].startswith("599 x")
    assert os.stat(paths.log_file()).st_mode & 0o777 == 0o600


def test_codex_hook_accepts_payload_as_argument(hook_bench: Bench) -> None:
    """Standard input is not read then."""
    payload = {"type": "agent-turn-complete", "thread-id": SESSION, "input-messages": ["Hi."]}
    done = cortext(Path.cwd(), "hook", "codex", "agent-turn-complete", json.dumps(payload))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not os.path.exists(paths.log_file())


def sleeper(folder: Path, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """A process that looks like a tool's."""
    program = folder / name
    if not program.exists():
        program.symlink_to(sys.executable)
    code = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen([program, "-c", code, *arguments], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    return process


def test_session_is_live_only_while_its_process_runs(tmp_path: Path) -> None:
    """By arguments, by an open transcript, by what the hook wrote down; until the process ends,
    and never by the time of a file."""
    other = SESSION.replace("5e0c", "6e0c")
    noted = SESSION.replace("5e0c", "7e0c")
    process = sleeper(tmp_path, "claude", "--resume", SESSION)
    fork = sleeper(tmp_path, "codex", "fork", other)
    try:
        found = find_process(process.pid)
        assert found
        note_running("gemini", noted, found)
        live = live_sessions()
        assert live["claude", SESSION] == process.pid
        assert live["gemini", noted] == process.pid
        assert ("codex", other) not in live
    finally:
        for each in (process, fork):
            each.kill()
            each.wait()
    live = live_sessions()
    assert not {("claude", SESSION), ("gemini", noted)} & set(live)


def test_session_is_live_while_process_has_transcript_open(tmp_path: Path) -> None:
    """As Codex has its rollout open while it runs."""
    rollout = tmp_path / f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl"
    rollout.write_bytes(b"")
    program = tmp_path / "codex"
    program.symlink_to(sys.executable)
    code = f"import time; f = open({str(rollout)!r}, 'ab'); print(flush=True); time.sleep(60)"
    with subprocess.Popen([program, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert live_sessions()["codex", SESSION] == process.pid
        process.kill()


def test_concurrent_stops_and_hooks_capture_each_message_once(hook_bench: Bench) -> None:
    """`cortext stop` and hooks together: one conversation, nothing twice."""
    root = Path(hook_bench.workspace.root)
    with ThreadPoolExecutor(4) as pool:
        stops = [pool.submit(ok, root, "stop", hook_bench.bound.place.name) for _ in range(3)]
        hooks = [pool.submit(Called("Stop", payload_of(hook_bench)).end) for _ in range(3)]
        assert all("has been paused" in stop.result() for stop in stops)
        assert [each.result() for each in hooks] == [QUIET] * 3
    assert hook_bench.said() == hook_bench.expected


def test_unbound_hook_imports_nothing_heavy() -> None:
    program = (
        "import io, sys; from cortext.cli.main import main\n"
        f'sys.stdin = io.TextIOWrapper(io.BytesIO(b\'{{"session_id": "{SESSION}"}}\'))\n'
        "sys.argv = ['cortext', 'hook', 'claude', 'Stop']; assert main() == 0\n"
        "print(*sorted({'rich', 'textual', 'rapidfuzz', 'asyncio', 'mcp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"\n", b"")


def test_tool_without_transcript_is_bound_by_process_until_session_is_known(
    hook_bench: Bench,
) -> None:
    """As Gemini CLI at its first prompt: the session gets its id when it has one."""
    waiting = hook_bench.begin("From the first prompt")
    process = find_process(os.getpid())
    assert process
    bind_process(waiting, "gemini", process)
    (entry,) = hook_bench.head(waiting)["native"]
    assert (entry["session_id"], entry["pid"]) == ("", os.getpid())
    other = replace(process, started=process.started + 100)
    assert find_pending("gemini", other) is None
    assert resolve_pending("gemini", SESSION, "/x.jsonl", other) is None
    assert find_pending("gemini", process) == waiting
    assert resolve_pending("gemini", SESSION, "/x.jsonl", process) == waiting
    (entry,) = hook_bench.head(waiting)["native"]
    assert (entry["session_id"], entry["path"]) == (SESSION, "/x.jsonl")
    assert not {"pid", "started"} & set(entry)
    assert find_binding("gemini", SESSION) == waiting
    assert find_pending("gemini", process) is None


def test_mcp_servers_reads_settings_of_each_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their names, from the files that people write, comments and all."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    cwd = tmp_path / "project"
    own = {str(cwd): {"mcpServers": {"b": {}}}}
    files = {
        ".claude.json": json.dumps({"mcpServers": {"a": {}}, "projects": own}),
        "project/.mcp.json": '{"mcpServers": {"c": {}}}',
        ".gemini/settings.json": '{"mcpServers": {"g": {"url": "http://x//y"},}, // mine\n}',
        ".config/opencode/opencode.jsonc": '{/* all */ "mcp": {"o": {}}}',
        ".codex/config.toml": "[mcp_servers.x]\ncommand = 'y'\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {tool: mcp_servers(tool, str(cwd)) for tool in tool_names()}
    assert found == {
        "claude": ["a", "b", "c"], "codex": ["x"], "gemini": ["g"], "opencode": ["o"],
    }  # fmt: skip
    (tmp_path / ".codex/config.toml").write_text("[", encoding="utf-8")
    assert mcp_servers("codex", str(cwd)) == []


def test_importing_session_twice_makes_one_conversation(hook_bench: Bench) -> None:
    """Found by the beginning of its id; again it is there already; nothing is there twice."""
    root = Path(hook_bench.workspace.root)
    fork = min(hook_bench.transcript.parent.glob("*.jsonl"), key=lambda path: path.stat().st_size)
    told = ok(root, "import", fork.stem[:8])
    id = told.removeprefix("imported: ").strip()
    assert ok(root, "import", fork.stem[:8]) == f"already here: {id}\n"
    assert ok(root, "import", fork.stem) == f"already here: {id}\n"
    head = head_of(root, id)
    assert (head["conversation_type"], head["status"]) == ("chat", "paused")
    assert [entry["session_id"] for entry in head["native"]] == [fork.stem]
    assert head["message_count"] == 16
    missing = cortext(root, "import", "99999999")
    assert (missing.returncode, "Traceback" in missing.stderr) == (3, False)
    assert len(list(root.glob("conversations/*/*/.session"))) == 2


@pytest.mark.parametrize("kind", ["pipe", "device", "nul"])
def test_hook_ignores_transcript_that_is_no_regular_file(
    hook_bench: Bench, tmp_path: Path, kind: str
) -> None:
    """It is left, and the tool is not kept waiting."""
    os.mkfifo(tmp_path / "pipe")
    path = {"pipe": str(tmp_path / "pipe"), "device": "/dev/zero", "nul": "/a\0b"}[kind]
    payload = payload_of(hook_bench, transcript_path=path, last_assistant_message="An answer.")
    assert Called("Stop", payload).end()[0] == 0
