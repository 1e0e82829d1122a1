"""Asking an old conversation, with programs in the place of the tools."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cortext.errors import CortextError
from cortext.features.archive.archive_copy_states import folder_of
from cortext.features.capture.bindings import row_of
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.conversation_question import ask
from cortext.tools.gemini.writer import GeminiWriter
from cortext.tools.registry import open_bridge
from cortext.tools.writer_protocol import Turn, Written
from tests.features.capture_bench import Bench
from tests.features.spawn.agent_processes import gone


def program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


def test_ask_captures_transcript_first_and_leaves_no_gemini_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no hook took it, it is taken first; a second file of Gemini's does not stay."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    # As it does when a minute has passed since the copy was made.
    script = f"""copy=$(grep -rl "$2" "{gemini.home}/.gemini")
short=$(echo "$2" | cut -c1-8)
echo '{{"sessionId": "'"$2"'"}}' > "$(dirname "$copy")/session-2000-01-01T00-00-$short.jsonl"
echo answered"""
    program(tmp_path, "gemini", script, monkeypatch)
    monkeypatch.chdir(gemini.workspace.root)
    before = sorted(gemini.home.rglob("session-*"))
    assert ask(row_of(gemini.bound), "What?", "gemini", budget=10_000).text == "answered\n"
    assert sorted(gemini.home.rglob("session-*")) == before
    assert gemini.said() == gemini.expected


def test_ask_hints_git_init_when_codex_distrusts_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = Bench("codex", tmp_path, monkeypatch)
    codex.bind()
    said = "Not inside a trusted directory and --skip-git-repo-check was not specified."
    program(tmp_path, "codex", f"echo '{said}' >&2; exit 1", monkeypatch)
    monkeypatch.chdir(codex.workspace.root)
    with pytest.raises(CortextError, match="codex failed") as caught:
        ask(row_of(codex.bound), "What?", "codex", budget=10_000)
    assert "git init" in caught.value.hint


def test_ask_runs_tool_in_empty_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where somebody put settings into it, another is taken."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    program(tmp_path, "gemini", f"pwd >> {tmp_path}/ran; echo answered", monkeypatch)
    monkeypatch.chdir(gemini.workspace.root)
    row = row_of(gemini.bound)
    for _ in range(3):
        assert ask(row, "What?", "gemini", budget=10_000).text == "answered\n"
        folders = [Path(line) for line in (tmp_path / "ran").read_text("utf-8").splitlines()]
        assert (list(folders[-1].iterdir()), folders[-1].stat().st_mode & 0o777) == ([], 0o700)
        if len(folders) == 1:
            (folders[0] / ".gemini").mkdir()
    assert folders[0] != folders[1] == folders[2]
    assert folders[0].parent == folders[1].parent


def test_list_hides_copy_made_by_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No list has it, also where a sync came while the tool answered."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    program(
        tmp_path,
        "gemini",
        f"{sys.executable} -m cortext sync --quiet; echo $2 > {tmp_path}/id; echo answered",
        monkeypatch,
    )
    monkeypatch.chdir(gemini.workspace.root)
    ask(row_of(gemini.bound), "What?", "gemini", budget=10_000)
    id = (tmp_path / "id").read_text("utf-8").strip()
    held = [source.id for source in open_bridge("gemini", folder_of("gemini")).sources()]
    assert gemini.session in held
    rows = ConversationList(gemini.workspace.root, everywhere=True).list().rows
    assert (id in [row.key for row in rows], bool(rows)) == (False, True)


ASKING = """
import sys
from cortext.features.resume.conversation_question import ask
from cortext.features.listing.conversation_list import ConversationList
rows = ConversationList(sys.argv[1]).list().rows
ask(next(row for row in rows if row.status and not row.tool), "What?", sys.argv[2], budget=10_000)
"""


@pytest.mark.parametrize("tool", ["gemini", "claude"])
def test_terminated_ask_leaves_no_copy_and_no_process(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the copy nor anything that the tool started, in whatever group of processes."""
    bench = Bench(tool, tmp_path, monkeypatch)
    bench.bind()
    bench.capture()
    script = f"cd {tmp_path}; setsid sleep 15 & echo $! > new; mv new pid; wait"
    program(tmp_path, tool, script, monkeypatch)
    before = sorted(bench.home.rglob("*.jsonl"))
    words = [sys.executable, "-c", ASKING, bench.workspace.root, tool]
    with subprocess.Popen(words, cwd=bench.workspace.root) as asking:
        until(lambda: (tmp_path / "pid").exists() or asking.poll() is not None)
        asking.terminate()
        assert asking.wait(60) == 128 + signal.SIGTERM
    pid = int((tmp_path / "pid").read_text("ascii"))
    until(lambda: gone(pid))
    assert sorted(bench.home.rglob("*.jsonl")) == before


def test_ask_kills_tool_that_exceeds_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it started."""
    claude = Bench("claude", tmp_path, monkeypatch)
    claude.bind()
    program(tmp_path, "claude", f"setsid sleep 15 & echo $! > {tmp_path}/pid; wait", monkeypatch)
    monkeypatch.setattr("cortext.features.resume.conversation_question._TIMEOUT", 1.0)
    monkeypatch.chdir(claude.workspace.root)
    with pytest.raises(CortextError, match="did not answer within 1 s"):
        ask(row_of(claude.bound), "What?", "claude", budget=10_000)
    pid = int((tmp_path / "pid").read_text("ascii"))
    until(lambda: gone(pid))


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        os.sched_yield()


def test_concurrent_gemini_writers_share_one_project_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gemini CLI has one place for what belongs to a folder, whoever makes it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    turns = [Turn("user", datetime.now(UTC), "Hello?")]
    start = threading.Barrier(8)

    def write(_: int) -> str:
        start.wait()
        return GeminiWriter(str(tmp_path / ".gemini")).write(turns, cwd="/x/asking", title="").path

    with ThreadPoolExecutor(8) as pool:
        found = set(map(os.path.dirname, pool.map(write, range(8))))
    assert found == {str(tmp_path / ".gemini/tmp/asking/chats")}


def test_ask_hints_opencode_json_when_opencode_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCode itself says only that something is wrong, and the copy goes all the same."""
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.bind()
    monkeypatch.setattr(
        "cortext.features.resume.conversation_question.write_copy",
        lambda *_, **__: Written("ses_1", "x.db"),
    )
    script = f"""echo "$@" >> {tmp_path}/ran
[ "$1" = session ] || {{ echo '{{"name": "UnknownError"}}' >&2; exit 1; }}"""
    program(tmp_path, "opencode", script, monkeypatch)
    monkeypatch.chdir(bench.workspace.root)
    with pytest.raises(CortextError, match="opencode failed") as caught:
        ask(row_of(bench.bound), "What?", "opencode", budget=10_000)
    assert "opencode.json" in caught.value.hint
    ran = (tmp_path / "ran").read_text(encoding="utf-8").splitlines()
    assert ran[-1] == "session delete ses_1"
