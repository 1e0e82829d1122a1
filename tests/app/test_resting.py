"""What nobody goes on with is paused by itself: hooks write it, and lists say it once."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext.app.binding import Bound
from cortext.app.conversations import Conversations
from cortext.app.hook import hook
from cortext.bridges.live import note_running
from cortext.bridges.processes import find_process
from tests.app.captures import Bench
from tests.command import cortext, git

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


def status(bench: Bench, bound: Bound) -> tuple[str, str | None]:
    head = bench.head(bound)
    return head["status"], head.get("stop_reason")


def test_a_hook_writes_the_pause(bench: Bench) -> None:
    """Of what rested for long, not of what was gone on with; nothing is committed, and the last
    activity stays what it was."""
    idle, fresh = bench.begin("Idle"), bench.begin("Fresh")
    rest(bench, idle, 6)
    rest(bench, fresh, 4)
    before, commits = bench.head(idle)["last_active"], git(Path(bench.workspace.root), "log")
    call(bench)
    assert status(bench, idle) == ("paused", "idle")
    assert status(bench, fresh)[0] == "active"
    stays = datetime.fromisoformat(bench.head(idle)["last_active"])
    assert stays == datetime.fromisoformat(before)
    assert git(Path(bench.workspace.root), "log") == commits


def test_what_was_said_is_saved_with_it(bench: Bench) -> None:
    """All of the transcript is in the conversation; words that are new keep it going."""
    rest(bench, bench.bound, 6)
    call(bench)
    assert status(bench, bench.bound) == ("paused", "idle")
    assert bench.said() == bench.expected


def test_one_that_is_live_goes_on(bench: Bench) -> None:
    """A tool has it open: the person thinks."""
    process = find_process(os.getpid())
    assert process
    note_running("claude", bench.session, process)
    rest(bench, bench.bound, 60)
    call(bench)
    assert status(bench, bench.bound)[0] == "active"


def test_the_one_whose_hook_it_is_goes_on(bench: Bench) -> None:
    """An event is activity, however long ago the one before was."""
    bench.capture()
    rest(bench, bench.bound, 60)
    payload = {"session_id": bench.session, "transcript_path": str(bench.transcript)}
    hook("claude", "SessionStart", {**payload, "cwd": bench.workspace.root})
    assert status(bench, bench.bound)[0] == "active"


def test_few_at_a_time(bench: Bench) -> None:
    """A tool waits: the rest is paused with the next events."""
    made = [bench.begin(f"Idle {number}") for number in range(3)]
    for bound in made:
        rest(bench, bound, 6)
    call(bench)
    assert [status(bench, bound)[0] for bound in made].count("paused") == 2
    call(bench)
    assert [status(bench, bound)[0] for bound in made].count("paused") == 3


def test_never_is_never(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting at 0 nothing goes to rest."""
    monkeypatch.setenv("CORTEXT_SESSIONS_PAUSE_MINUTES", "0")
    idle = bench.begin("Idle")
    rest(bench, idle, 600)
    call(bench)
    assert status(bench, idle)[0] == "active"


def test_a_list_says_it_once(bench: Bench) -> None:
    """As for one that is only shown as paused."""
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    call(bench)
    first, second = cortext(Path.cwd(), "list"), cortext(Path.cwd(), "list")
    assert '"Idle" was auto-saved and paused at ' in first.stderr
    assert "auto-saved" not in second.stderr


def test_what_was_said_of_is_not_said_again(bench: Bench) -> None:
    """A list has named it before a hook wrote it."""
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    assert "auto-saved" in cortext(Path.cwd(), "list").stderr
    call(bench)
    assert status(bench, idle) == ("paused", "idle")
    assert "auto-saved" not in cortext(Path.cwd(), "list").stderr


def test_stop_finds_what_went_to_rest(bench: Bench) -> None:
    """It was never stopped: `stop` means it; and once it was, nothing is left to stop."""
    bench.workspace.stop(bench.bound.place)
    idle = bench.begin("Idle")
    rest(bench, idle, 6)
    call(bench)
    assert [row.title for row in Conversations(bench.workspace.root).active()] == ["Idle"]
    bench.workspace.stop(idle.place)
    assert Conversations(bench.workspace.root).active() == []


def test_it_goes_on_when_the_person_does(bench: Bench) -> None:
    """New words in its session make it active again."""
    rest(bench, bench.bound, 6)
    call(bench)
    assert status(bench, bench.bound)[0] == "paused"
    parent = bench.say("user", "And one more thing.", 1)
    bench.say("assistant", "Which one?", 2, parent)
    bench.capture()
    assert status(bench, bench.bound)[0] == "active"
