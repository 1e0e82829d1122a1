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
from cortext.features.capture.bindings import ConversationRef, bind
from cortext.features.capture.capture import Captured, capture
from cortext.features.capture.hook_events import hook
from cortext.features.capture.pending_bindings import bind_process
from cortext.features.errors_log import last_errors
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.manage.auto_pause import pause_idle_conversations
from cortext.features.slash.slash_actions import Slash
from cortext.model.message import SessionMessage
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.running_sessions import forget_running, note_running
from cortext.tools.surrounding_session import Inside
from cortext.tools.system_processes import find_process
from tests.command import cortext, git, ok
from tests.features.capture_bench import Bench

OTHER = "5e0c9d1e-aaaa-4bbb-8ccc-0123456789ab"


@pytest.fixture
def pause_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Bench:
    made = Bench("claude", tmp_path, monkeypatch)
    root = Path(made.workspace.root)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "All of it")
    made.bind()
    monkeypatch.chdir(root)
    return made


def rest(bench: Bench, bound: ConversationRef, minutes: float) -> None:
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
    pause_idle_conversations(bench.workspace.root)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is started in the background, and is not."""
    found: list[tuple[str, ...]] = []

    def start(*words: str) -> bool:
        found.append(words)
        return True

    monkeypatch.setattr("cortext.features.manage.auto_pause.start_detached", start)
    return found


def status(bench: Bench, bound: ConversationRef) -> tuple[str, str | None]:
    head = bench.head(bound)
    return head["status"], head.get("stop_reason")


def test_hook_pauses_idle_conversation_and_commits_nothing(pause_bench: Bench) -> None:
    """By a process that it does not wait for: of what rested for long, not of what was gone on
    with; nothing is committed, and the last activity stays what it was."""
    idle, fresh = pause_bench.begin("Idle"), pause_bench.begin("Fresh")
    rest(pause_bench, idle, 6)
    rest(pause_bench, fresh, 4)
    before, commits = (
        pause_bench.head(idle)["last_active"],
        git(Path(pause_bench.workspace.root), "log"),
    )
    call(pause_bench)
    deadline = time.monotonic() + 60
    while status(pause_bench, idle)[0] == "active" and time.monotonic() < deadline:
        os.sched_yield()
    assert status(pause_bench, idle) == ("paused", "idle")
    assert status(pause_bench, fresh)[0] == "active"
    stays = datetime.fromisoformat(pause_bench.head(idle)["last_active"])
    assert stays == datetime.fromisoformat(before)
    assert git(Path(pause_bench.workspace.root), "log") == commits


def test_hook_starts_auto_pause_once_and_never_while_user_waits(
    pause_bench: Bench, started: list[tuple[str, ...]]
) -> None:
    """Now and then, where something rests: not while a person waits, nor for the conversation
    that the hook is of."""
    rest(pause_bench, pause_bench.bound, 3)
    call(pause_bench)
    assert started == []
    rest(pause_bench, pause_bench.bound, 6)
    call(pause_bench, "UserPromptSubmit")
    hook("claude", "Stop", {"session_id": pause_bench.session, "cwd": pause_bench.workspace.root})
    assert started == []
    rest(pause_bench, pause_bench.bound, 6)
    call(pause_bench)
    call(pause_bench)
    assert started == [("-m", "cortext.features.manage.auto_pause", pause_bench.workspace.root, "")]
    assert status(pause_bench, pause_bench.bound)[0] == "active"


def test_hook_logs_failed_auto_pause_and_still_answers_tool(pause_bench: Bench) -> None:
    """The tool is told what it is to be told, all the same."""
    rest(pause_bench, pause_bench.begin("Idle"), 6)
    bind(pause_bench.bound, "gemini", OTHER)
    Path(paths.running(), "resting").write_bytes(b"")
    call = {"session_id": OTHER, "prompt": "Let's stop here.", "cwd": pause_bench.workspace.root}
    assert "saved" in hook("gemini", "AfterAgent", call)["systemMessage"]
    assert "pausing idle conversations: NotADirectoryError" in last_errors()[-1]


def test_auto_pause_captures_transcript(pause_bench: Bench) -> None:
    """All of the transcript is in the conversation; words that are new keep it going."""
    rest(pause_bench, pause_bench.bound, 6)
    pause(pause_bench)
    assert status(pause_bench, pause_bench.bound) == ("paused", "idle")
    assert pause_bench.said() == pause_bench.expected


def test_auto_pause_leaves_conversation_that_is_open_in_tool(pause_bench: Bench) -> None:
    """A tool has it open: the person thinks."""
    process = find_process(os.getpid())
    assert process
    note_running("claude", pause_bench.session, process)
    rest(pause_bench, pause_bench.bound, 60)
    pause(pause_bench)
    assert status(pause_bench, pause_bench.bound)[0] == "active"


def test_auto_pause_leaves_pending_binding_while_its_tool_runs(pause_bench: Bench) -> None:
    """Its tool runs and has written none yet; once it ended, the conversation rests."""
    waiting = pause_bench.begin("Waiting")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as tool:
        process = find_process(tool.pid)
        assert process
        bind_process(waiting, "gemini", process, "0" * 32)
        rest(pause_bench, waiting, 60)
        pause(pause_bench)
        assert status(pause_bench, waiting)[0] == "active"
    pause(pause_bench)
    assert status(pause_bench, waiting) == ("paused", "idle")


def test_auto_pause_leaves_conversation_bound_inside_running_tool(
    pause_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tool has no hooks, and its command line says no session."""
    process = find_process(os.getpid())
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", OTHER)
    inside = Inside("claude", (OTHER,), process)
    monkeypatch.setattr("cortext.features.slash.slash_actions.here", lambda: inside)
    Slash().new("brainstorm", "Bound")
    row = next(
        r for r in ConversationList(pause_bench.workspace.root).list().rows if r.title == "Bound"
    )
    bound = ConversationRef(row.workspace, row.place)
    rest(pause_bench, bound, 60)
    pause(pause_bench)
    assert status(pause_bench, bound)[0] == "active"


def test_auto_pause_leaves_conversation_of_calling_hook(
    pause_bench: Bench, started: list[tuple[str, ...]]
) -> None:
    """An event is activity, however long ago the one before was."""
    pause_bench.capture()
    rest(pause_bench, pause_bench.bound, 60)
    rest(pause_bench, pause_bench.begin("Idle"), 60)
    payload = {"session_id": pause_bench.session, "transcript_path": str(pause_bench.transcript)}
    hook("claude", "SessionStart", {**payload, "cwd": pause_bench.workspace.root})
    assert [words[2:] for words in started] == [
        (pause_bench.workspace.root, pause_bench.bound.path)
    ]
    pause_idle_conversations(*started[0][2:])
    assert status(pause_bench, pause_bench.bound)[0] == "active"


def test_auto_pause_continues_when_one_conversation_fails(pause_bench: Bench) -> None:
    """What is wrong with it is in the log, and all others are paused."""
    made = [pause_bench.begin(f"Idle {number}") for number in range(4)]
    for bound in made:
        rest(pause_bench, bound, 6)
    locks = Path(pause_bench.workspace.root, "conversations/.cortext/locks")
    locks.mkdir(exist_ok=True)
    for bound in made[2:]:  # the latest come first
        (locks / f"{bound.place.day}~{bound.place.name}.change.lock").mkdir()
    pause(pause_bench)
    found = [status(pause_bench, bound)[0] for bound in made]
    assert found == ["paused", "paused", "active", "active"]
    assert f"pausing {made[2].place.name}" in "\n".join(last_errors())


def test_auto_pause_leaves_conversations_of_cloned_workspace(
    pause_bench: Bench, tmp_path: Path
) -> None:
    """It came by git, and may be going on where it came from."""
    tools_own, without = pause_bench.bound, pause_bench.begin("Idle")
    root = Path(pause_bench.workspace.root)
    for bound in (tools_own, without):
        rest(pause_bench, bound, 60)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "More")
    clone = tmp_path / "clone"
    git(root, "clone", "-q", str(root), str(clone))
    pause_idle_conversations(str(clone))
    heads = [json.loads(path.read_bytes()) for path in clone.rglob("session.json")]
    assert [head["status"] for head in heads] == ["active", "active"]
    pause(pause_bench)
    assert [status(pause_bench, bound)[0] for bound in (tools_own, without)] == ["paused", "paused"]


def test_auto_pause_leaves_conversation_resumed_during_capture(
    pause_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody who came between the list and the pause."""
    idle, said = pause_bench.begin("Idle"), pause_bench.begin("Said")
    for bound in (idle, said):
        rest(pause_bench, bound, 60)
    real = capture

    def and_then(root: str, place: ConversationPath) -> Captured:
        done = real(root, place)
        if place == idle.place:
            pause_bench.workspace.reactivate(place, reopen=False)
        if place == said.place:
            pause_bench.workspace.store.append(said.path, SessionMessage("user", "Wait."))
        return done

    monkeypatch.setattr("cortext.features.manage.auto_pause.capture", and_then)
    pause(pause_bench)
    assert [status(pause_bench, bound)[0] for bound in (idle, said)] == ["active", "active"]
    assert status(pause_bench, pause_bench.bound)[0] == "active"


def test_auto_pause_is_off_when_pause_minutes_is_zero(
    pause_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the setting at 0 nothing goes to rest."""
    monkeypatch.setenv("CORTEXT_SESSIONS_PAUSE_MINUTES", "0")
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 600)
    pause(pause_bench)
    assert status(pause_bench, idle)[0] == "active"


def test_list_announces_auto_pause_once(pause_bench: Bench) -> None:
    """As for one that is only shown as paused."""
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 6)
    pause(pause_bench)
    first, second = cortext(Path.cwd(), "list"), cortext(Path.cwd(), "list")
    assert '"Idle" was auto-saved and paused at ' in first.stderr
    assert "auto-saved" not in second.stderr


def test_list_writes_announced_pause_and_commits_nothing(pause_bench: Bench) -> None:
    root = Path(pause_bench.workspace.root)
    idle, commits = pause_bench.begin("Idle"), git(root, "log")
    rest(pause_bench, idle, 6)
    before = pause_bench.head(idle)["last_active"]
    assert '"Idle" was auto-saved and paused at ' in cortext(root, "list").stderr
    assert status(pause_bench, idle) == ("paused", "idle")
    stays = datetime.fromisoformat(pause_bench.head(idle)["last_active"])
    assert stays == datetime.fromisoformat(before)
    assert git(root, "log") == commits
    pause(pause_bench)
    assert "auto-saved" not in cortext(root, "list").stderr


def test_list_announces_no_pause_of_conversation_open_in_tool(pause_bench: Bench) -> None:
    process = find_process(os.getpid())
    assert process
    note_running("claude", pause_bench.session, process)
    rest(pause_bench, pause_bench.bound, 60)
    assert "auto-saved" not in cortext(Path.cwd(), "list").stderr
    assert status(pause_bench, pause_bench.bound)[0] == "active"
    forget_running("claude", pause_bench.session)
    assert '"The cache" was auto-saved' in cortext(Path.cwd(), "list").stderr
    assert status(pause_bench, pause_bench.bound) == ("paused", "idle")


@pytest.mark.parametrize("name", ["", ".change"])
def test_list_pauses_a_conversation_once_its_lock_is_free(
    pause_bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list does not wait for the lock, which can take ten seconds."""
    naps: list[float] = []
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 60)
    path = pause_bench.workspace.store.lock_of(idle.place).removesuffix(".lock")
    with FileLock(f"{path}{name}.lock"), monkeypatch.context() as patch:
        patch.setattr(time, "sleep", naps.append)
        assert announced(pause_bench) == []
    assert naps == []
    assert announced(pause_bench) == ["Idle"]
    assert status(pause_bench, idle) == ("paused", "idle")


def announced(bench: Bench) -> list[str]:
    """The titles that a list would announce as paused."""
    conversations = ConversationList(bench.workspace.root)
    conversations.list()
    return [row.title for row in conversations.pause_idle(conversations.idle)]


def test_list_announces_no_pause_of_conversation_from_clone(
    pause_bench: Bench, tmp_path: Path
) -> None:
    root, clone = Path(pause_bench.workspace.root), tmp_path / "clone"
    rest(pause_bench, pause_bench.begin("Idle"), 60)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "More")
    git(root, "clone", "-q", str(root), str(clone))
    assert "auto-saved" not in cortext(clone, "list").stderr
    assert git(clone, "status", "--short") == ""


def test_list_respects_pause_minutes_of_each_workspace(pause_bench: Bench, tmp_path: Path) -> None:
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 60)
    ok(Path.cwd(), "config", "--workspace", "sessions.pause_minutes", "0")
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    assert "auto-saved" not in cortext(other, "list", "--all").stderr
    assert status(pause_bench, idle)[0] == "active"


def test_list_all_shows_workspace_with_damaged_settings(pause_bench: Bench, tmp_path: Path) -> None:
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 60)
    Path(workspace_file(pause_bench.workspace.root)).write_text("[sessions\n", encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    ok(other, "init")
    assert "Idle" in ok(other, "list", "--all")
    assert status(pause_bench, idle)[0] == "active"


def test_new_message_reactivates_auto_paused_conversation(
    pause_bench: Bench,
) -> None:
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 6)
    pause(pause_bench)
    pause_bench.workspace.store.append(idle.path, SessionMessage("user", "I am back."))
    shown = {summary.title: summary.status for summary in pause_bench.workspace.list()}
    assert shown["Idle"] == "active"


@pytest.mark.parametrize("title", ["Idle", "The cache"])
def test_export_and_show_report_and_write_auto_pause(pause_bench: Bench, title: str) -> None:
    """A command that says "auto-saved and paused" of a conversation writes it."""
    bound = pause_bench.begin("Idle") if title == "Idle" else pause_bench.bound
    rest(pause_bench, bound, 6)
    found = [
        ok(Path.cwd(), *command, title)
        for command in (["export"], ["export", "--format", "json"], ["show", "--json"], ["show"])
    ]
    assert "- **Status:** paused\n" in found[0]
    assert [json.loads(text)["status"] for text in found[1:3]] == ["paused", "paused"]
    assert " · paused · " in found[3]
    assert status(pause_bench, bound) == ("paused", "idle")


def test_active_list_includes_auto_paused_conversation_until_stop(pause_bench: Bench) -> None:
    """It was never stopped: `stop` means it; and once it was, nothing is left to stop."""
    pause_bench.workspace.stop(pause_bench.bound.place)
    idle = pause_bench.begin("Idle")
    rest(pause_bench, idle, 6)
    pause(pause_bench)
    assert [row.title for row in ConversationList(pause_bench.workspace.root).active()] == ["Idle"]
    pause_bench.workspace.stop(idle.place)
    assert ConversationList(pause_bench.workspace.root).active() == []


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_capture_of_new_message_reactivates_auto_paused_conversation(
    pause_bench: Bench, role: str
) -> None:
    """New words in its session make it active again, also those of the agent alone."""
    rest(pause_bench, pause_bench.bound, 6)
    pause(pause_bench)
    assert status(pause_bench, pause_bench.bound)[0] == "paused"
    pause_bench.say(role, "And one more thing.", 1)
    pause_bench.capture()
    assert pause_bench.said()[-1] == [role, "And one more thing."]
    assert status(pause_bench, pause_bench.bound)[0] == "active"
