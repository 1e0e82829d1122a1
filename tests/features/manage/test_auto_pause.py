"""What nobody goes on with is paused by itself: hooks write it, and lists say it once."""

import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import paths
from cortext.config import workspace_file
from cortext.durability.file_lock import FileLock
from cortext.features.capture.bindings import Bound, bind
from cortext.features.capture.capture import Captured, capture
from cortext.features.capture.hook_events import hook
from cortext.features.capture.pending_bindings import bind_process
from cortext.features.errors_log import last_errors
from cortext.features.listing.conversation_list import Conversations
from cortext.features.manage.auto_pause import pause_resting
from cortext.features.slash.replies import Slash
from cortext.model.message import SessionMessage
from cortext.stores.workspace_layout import Place
from cortext.tools.processes import find_process
from cortext.tools.running import forget_running, note_running
from cortext.tools.tool_context import Inside
from tests.command import cortext, git, ok
from tests.features.capture_bench import Bench

OTHER = "5e0c9d1e-aaaa-4bbb-8ccc-0123456789ab"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Bench:
    made = Bench("claude", tmp_path, monkeypatch)
    root = Path(made.workspace.root)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "All of it")
    made.bind()
    monkeypatch.chdir(root)
    return made


def rest(bench: Bench, bound: Bound, minutes: float) -> None:
    """Its last activity was so long ago."""
    head = bench.head(bound)
    head["last_active"] = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
    Path(bound.place.head).write_text(json.dumps(head), encoding="utf-8")


def call(bench: Bench, event: str = "Stop") -> None:
    """A hook of another session of this workspace, or of none."""
    payload = {"session_id": OTHER, "transcript_path": "", "cwd": bench.workspace.root}
    assert hook("claude", event, payload) == {}


def pause(bench: Bench) -> None:
    """What the process does that a hook starts."""
    pause_resting(bench.workspace.root)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is started in the background, and is not."""
    found: list[tuple[str, ...]] = []

    def start(*words: str) -> bool:
        found.append(words)
        return True

    monkeypatch.setattr("cortext.features.archive.background.start_detached", start)
    return found


def status(bench: Bench, bound: Bound) -> tuple[str, str | None]:
    head = bench.head(bound)
    return head["status"], head.get("stop_reason")


def test_a_hook_has_the_pause_written(bench: Bench) -> None:
    """By a process that it does not wait for: of what rested for long, not of what was gone on
    with; nothing is committed, and the last activity stays what it was."""
    idle, fresh = bench.begin("Idle"), bench.begin("Fresh")
    rest(bench, idle, 6)
    rest(bench, fresh, 4)
    before, commits = bench.head(idle)["last_active"], git(Path(bench.workspace.root), "log")
    call(bench)
    deadline = time.monotonic() + 60
    while status(bench, idle)[0] == "active" and time.monotonic() < deadline:
        os.sched_yield()
    assert status(bench, idle) == ("paused", "idle")
    assert status(bench, fresh)[0] == "active"
    stays = datetime.fromisoformat(bench.head(idle)["last_active"])
    assert stays == datetime.fromisoformat(before)
    assert git(Path(bench.workspace.root), "log") == commits


def test_a_hook_only_starts_it(bench: Bench, started: list[tuple[str, ...]]) -> None:
    """Now and then, where something rests: not while a person waits, nor for the conversation
    that the hook is of."""
    rest(bench, bench.bound, 3)
    call(bench)
    assert started == []
    rest(bench, bench.bound, 6)
    call(bench, "UserPromptSubmit")
    hook("claude", "Stop", {"session_id": bench.session, "cwd": bench.workspace.root})
    assert started == []
    rest(bench, bench.bound, 6)
    call(bench)
    call(bench)
    assert started == [("-m", "cortext.features.manage.auto_pause", bench.workspace.root, "")]
    assert status(bench, bench.bound)[0] == "active"


def test_what_goes_wrong_with_it_is_logged(bench: Bench) -> None:
    """The tool is told what it is to be told, all the same."""
    rest(bench, bench.begin("Idle"), 6)
    bind(bench.bound, "gemini", OTHER)
    Path(paths.running(), "resting").write_bytes(b"")
    call = {"session_id": OTHER, "prompt": "Let's stop here.", "cwd": bench.workspace.root}
    assert "saved" in hook("gemini", "AfterAgent", call)["systemMessage"]
    assert "letting conversations rest: NotADirectoryError" in last_errors()[-1]


def test_what_was_said_is_saved_with_it(bench: Bench) -> None:
    """All of the transcript is in the conversation; words that are new keep it going."""
    rest(bench, bench.bound, 6)
    pause(bench)
    assert status(bench, bench.bound) == ("paused", "idle")
    assert bench.said() == bench.expected


def test_one_that_is_live_goes_on(bench: Bench) -> None:
    """A tool has it open: the person thinks."""
    process = find_process(os.getpid())
    assert process
    note_running("claude", bench.session, process)
    rest(bench, bench.bound, 60)
    pause(bench)
    assert status(bench, bench.bound)[0] == "active"


def test_one_that_waits_for_a_session_goes_on(bench: Bench) -> None:
    """Its tool runs and has written none yet; once it ended, the conversation rests."""
    waiting = bench.begin("Waiting")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as tool:
        process = find_process(tool.pid)
        assert process
        bind_process(waiting, "gemini", process, "0" * 32)
        rest(bench, waiting, 60)
        pause(bench)
        assert status(bench, waiting)[0] == "active"
    pause(bench)
    assert status(bench, waiting) == ("paused", "idle")


def test_one_that_was_bound_in_its_tool_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tool has no hooks, and its command line says no session."""
    process = find_process(os.getpid())
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)
    inside = Inside("claude", (OTHER,), process)
    monkeypatch.setattr("cortext.features.slash.replies.here", lambda: inside)
    Slash().new("brainstorm", "Bound")
    row = next(r for r in Conversations(bench.workspace.root).list().rows if r.title == "Bound")
    bound = Bound(row.workspace, row.place)
    rest(bench, bound, 60)
    pause(bench)
    assert status(bench, bound)[0] == "active"


def test_the_one_whose_hook_it_is_goes_on(bench: Bench, started: list[tuple[str, ...]]) -> None:
    """An event is activity, however long ago the one before was."""
    bench.capture()
    rest(bench, bench.bound, 60)
    rest(bench, bench.begin("Idle"), 60)
    payload = {"session_id": bench.session, "transcript_path": str(bench.transcript)}
    hook("claude", "SessionStart", {**payload, "cwd": bench.workspace.root})
    assert [words[2:] for words in started] == [(bench.workspace.root, bench.bound.path)]
    pause_resting(*started[0][2:])
    assert status(bench, bench.bound)[0] == "active"


def test_one_that_cannot_be_paused_keeps_no_other(bench: Bench) -> None:
    """What is wrong with it is in the log, and all others are paused."""
    made = [bench.begin(f"Idle {number}") for number in range(4)]
    for bound in made:
        rest(bench, bound, 6)
    locks = Path(bench.workspace.root, "conversations/.cortext/locks")
    locks.mkdir(exist_ok=True)
    for bound in made[2:]:  # the latest come first
        (locks / f"{bound.place.day}~{bound.place.name}.change.lock").mkdir()
    pause(bench)
    found = [status(bench, bound)[0] for bound in made]
    assert found == ["paused", "paused", "active", "active"]
    assert f"pausing {made[2].place.name}" in "\n".join(last_errors())


def test_what_was_begun_elsewhere_is_left(bench: Bench, tmp_path: Path) -> None:
    """It came by git, and may be going on where it came from."""
    tools_own, without = bench.bound, bench.begin("Idle")
    root = Path(bench.workspace.root)
    for bound in (tools_own, without):
        rest(bench, bound, 60)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "More")
    clone = tmp_path / "clone"
    git(root, "clone", "-q", str(root), str(clone))
    pause_resting(str(clone))
    heads = [json.loads(path.read_bytes()) for path in clone.rglob("session.json")]
    assert [head["status"] for head in heads] == ["active", "active"]
    pause(bench)
    assert [status(bench, bound)[0] for bound in (tools_own, without)] == ["paused", "paused"]


def test_what_was_resumed_meanwhile_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """By somebody who came between the list and the pause."""
    idle, said = bench.begin("Idle"), bench.begin("Said")
    for bound in (idle, said):
        rest(bench, bound, 60)
    real = capture

    def and_then(root: str, place: Place) -> Captured:
        done = real(root, place)
        if place == idle.place:
            bench.workspace.reactivate(place, reopen=False)
        if place == said.place:
            bench.workspace.store.append(said.path, SessionMessage("user", "Wait."))
        return done

    monkeypatch.setattr("cortext.features.capture.capture.capture", and_then)
    pause(bench)
    assert [status(bench, bound)[0] for bound in (idle, said)] == ["active", "active"]
    assert status(bench, bench.bound)[0] == "active"


def test_never_is_never(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting at 0 nothing goes to rest."""
    monkeypatch.setenv("CORTEXT_SESSIONS_PAUSE_MINUTES", "0")
    idle = bench.begin("Idle")
    rest(bench, idle, 600)
    pause(bench)
    assert status(bench, idle)[0] == "active"


def test_a_list_says_it_once(bench: Bench) -> None:
    """As for one that is only shown as paused."""
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    pause(bench)
    first, second = cortext(Path.cwd(), "list"), cortext(Path.cwd(), "list")
    assert '"Idle" was auto-saved and paused at ' in first.stderr
    assert "auto-saved" not in second.stderr


def test_list_that_announces_a_pause_writes_it_and_commits_nothing(bench: Bench) -> None:
    root = Path(bench.workspace.root)
    idle, commits = bench.begin("Idle"), git(root, "log")
    rest(bench, idle, 6)
    before = bench.head(idle)["last_active"]
    assert '"Idle" was auto-saved and paused at ' in cortext(root, "list").stderr
    assert status(bench, idle) == ("paused", "idle")
    stays = datetime.fromisoformat(bench.head(idle)["last_active"])
    assert stays == datetime.fromisoformat(before)
    assert git(root, "log") == commits
    pause(bench)
    assert "auto-saved" not in cortext(root, "list").stderr


def test_list_announces_no_pause_while_a_tool_has_the_conversation_open(bench: Bench) -> None:
    process = find_process(os.getpid())
    assert process
    note_running("claude", bench.session, process)
    rest(bench, bench.bound, 60)
    assert "auto-saved" not in cortext(Path.cwd(), "list").stderr
    assert status(bench, bench.bound)[0] == "active"
    forget_running("claude", bench.session)
    assert '"The cache" was auto-saved' in cortext(Path.cwd(), "list").stderr
    assert status(bench, bench.bound) == ("paused", "idle")


@pytest.mark.parametrize("name", ["", ".change"])
def test_list_pauses_a_conversation_once_its_lock_is_free(bench: Bench, name: str) -> None:
    """A list does not wait for the lock, which can take ten seconds."""
    idle = bench.begin("Idle")
    rest(bench, idle, 60)
    path = bench.workspace.store.lock_of(idle.place).removesuffix(".lock")
    began = time.monotonic()
    with FileLock(f"{path}{name}.lock"):
        assert announced(bench) == []
    assert time.monotonic() - began < 5
    assert announced(bench) == ["Idle"]
    assert status(bench, idle) == ("paused", "idle")


def announced(bench: Bench) -> list[str]:
    """The titles that a list would announce as paused."""
    conversations = Conversations(bench.workspace.root)
    conversations.list()
    return [row.title for row in conversations.pause_idle(conversations.idle)]


def test_list_announces_no_pause_of_a_conversation_from_another_machine(
    bench: Bench, tmp_path: Path
) -> None:
    root, clone = Path(bench.workspace.root), tmp_path / "clone"
    rest(bench, bench.begin("Idle"), 60)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "More")
    git(root, "clone", "-q", str(root), str(clone))
    assert "auto-saved" not in cortext(clone, "list").stderr
    assert git(clone, "status", "--short") == ""


def test_list_keeps_to_the_pause_minutes_of_each_workspace(bench: Bench, tmp_path: Path) -> None:
    idle = bench.begin("Idle")
    rest(bench, idle, 60)
    ok(Path.cwd(), "config", "--workspace", "sessions.pause_minutes", "0")
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    assert "auto-saved" not in cortext(other, "list", "--all").stderr
    assert status(bench, idle)[0] == "active"


def test_list_shows_all_workspaces_though_the_settings_of_one_are_damaged(
    bench: Bench, tmp_path: Path
) -> None:
    idle = bench.begin("Idle")
    rest(bench, idle, 60)
    Path(workspace_file(bench.workspace.root)).write_text("[sessions\n", encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    assert "Idle" in ok(other, "list", "--all")
    assert status(bench, idle)[0] == "active"


def test_conversation_is_active_again_after_activity_that_follows_an_auto_pause(
    bench: Bench,
) -> None:
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    pause(bench)
    bench.workspace.store.append(idle.path, SessionMessage("user", "I am back."))
    shown = {summary.title: summary.status for summary in bench.workspace.list()}
    assert shown["Idle"] == "active"


@pytest.mark.parametrize("title", ["Idle", "The cache"])
def test_what_reads_one_says_so_too(bench: Bench, title: str) -> None:
    """A command that says "auto-saved and paused" of a conversation writes it."""
    bound = bench.begin("Idle") if title == "Idle" else bench.bound
    rest(bench, bound, 6)
    found = [
        ok(Path.cwd(), *command, title)
        for command in (["export"], ["export", "--format", "json"], ["show", "--json"], ["show"])
    ]
    assert "- **Status:** paused\n" in found[0]
    assert [json.loads(text)["status"] for text in found[1:3]] == ["paused", "paused"]
    assert " · paused · " in found[3]
    assert status(bench, bound) == ("paused", "idle")


def test_stop_finds_what_went_to_rest(bench: Bench) -> None:
    """It was never stopped: `stop` means it; and once it was, nothing is left to stop."""
    bench.workspace.stop(bench.bound.place)
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    pause(bench)
    assert [row.title for row in Conversations(bench.workspace.root).active()] == ["Idle"]
    bench.workspace.stop(idle.place)
    assert Conversations(bench.workspace.root).active() == []


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_it_goes_on_when_somebody_does(bench: Bench, role: str) -> None:
    """New words in its session make it active again, also those of the agent alone."""
    rest(bench, bench.bound, 6)
    pause(bench)
    assert status(bench, bench.bound)[0] == "paused"
    bench.say(role, "And one more thing.", 1)
    bench.capture()
    assert bench.said()[-1] == [role, "And one more thing."]
    assert status(bench, bench.bound)[0] == "active"
