"""Sessions of `aur spawn`: spec 002, through the real command in a terminal."""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.repl.terminal import CTRL_D, Terminal, plain
from tests.command import run_aur

AGENT = Path(__file__).parents[1] / "cli/repl/agent.py"
TOOL = f"{sys.executable} {AGENT}"
Open = Callable[..., Terminal]


@pytest.fixture
def sessions(data_home: Path) -> Path:
    return data_home / "aurora/spawn/sessions"


@pytest.fixture
def aur(tmp_path: Path) -> Open:
    """`aur spawn` in a terminal, answered by a program of the tests."""
    agents = tmp_path / ".claude/agents"
    agents.mkdir(parents=True)
    for name in ("qa-test", "architect"):
        (agents / f"{name}.md").write_text(f"You are {name}.\n", encoding="utf-8")
    environment = {"AURORA_SPAWN_TOOL": TOOL, "AGENT_CALLED": str(tmp_path / "called")}

    def opened(*arguments: str) -> Terminal:
        script = str(Path(sys.executable).with_name("aur"))
        return Terminal([script, "spawn", *arguments], cwd=tmp_path, env=environment)

    return opened


def have(aur: Open, id: str, *texts: str, agent: str = "qa-test") -> None:
    """A session in which each of these was said and answered, and which was completed."""
    with aur("-i", "--agent", agent, "--session", id) as terminal:
        terminal.prompt()
        for text in texts:
            terminal.line(text)
            terminal.prompt()
        terminal.keys(CTRL_D)
        assert terminal.ends() == 0


def said(aur: Open, *arguments: str, code: int = 0) -> list[str]:
    """All that a command shows in its terminal until it ends."""
    with aur(*arguments) as terminal:
        assert terminal.ends() == code
        assert "Traceback" not in terminal.raw
        return plain(terminal.raw).splitlines()


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def age(path: Path, days: float) -> None:
    """Let a session have been had so long ago."""
    when = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    lines = lines_of(path)
    for line in lines:
        line |= {key: when for key in ("created_at", "updated_at", "timestamp") if key in line}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_create_new_session(aur: Open, sessions: Path) -> None:
    """Session Creation and Persistence: Create New Session"""
    for _ in range(2):
        with aur("--interactive") as terminal:
            terminal.prompt()
            # Before anything was said.
            (head,) = lines_of(max(sessions.glob("*.jsonl"), key=lambda path: path.stat().st_mtime))
            assert head["type"] == "metadata"
            assert (head["agent"], head["status"]) == ("default", "active")
            assert datetime.fromisoformat(head["created_at"]) <= datetime.now(UTC)
            assert (sessions / f"{head['session_id']}.jsonl").is_file()
            terminal.line("/exit")
            assert terminal.ends() == 0
    assert len(list(sessions.glob("*.jsonl"))) == 2


def test_save_session_state(aur: Open, sessions: Path) -> None:
    """Session Creation and Persistence: Save Session State"""
    path = sessions / "one.jsonl"
    with aur("-i", "--session", "one") as terminal:
        terminal.prompt()
        for number in range(1, 4):
            terminal.line(f"turn {number}")
            terminal.prompt()
            # Another process reads it while it is open: whole lines, both of each exchange.
            found = lines_of(path)
            assert len(found) == 1 + 2 * number
            assert [turn["content"] for turn in found[-2:]] == [
                f"turn {number}",
                f"you said: turn {number}",
            ]


def test_load_existing_session(aur: Open, sessions: Path) -> None:
    """Session Creation and Persistence: Load Existing Session"""
    have(aur, "session-123", "first words", "second words")
    with aur("--resume", "session-123") as terminal:
        terminal.prompt()
        terminal.line("/history 4")
        shown = terminal.prompt()
        order = [shown.index(f"{number}. ") for number in (1, 2, 3, 4)]
        assert order == sorted(order)
        assert shown.index("first words") < shown.index("second words")
        terminal.line("prompt")
        terminal.prompt()
    prompt = lines_of(sessions / "session-123.jsonl")[-1]["content"]
    said = ["first words", "you said: first words", "second words", "you said: second words"]
    places = [prompt.index(text) for text in said]
    assert places == sorted(places)
    assert prompt.startswith("You are qa-test.")
    assert prompt.endswith("prompt")


@pytest.fixture
def three(aur: Open, sessions: Path) -> Path:
    """Three sessions: the oldest completed, then one that was interrupted, and the latest."""
    have(aur, "old", "a", "b")
    age(sessions / "old.jsonl", 2)
    have(aur, "design", "c", agent="architect")
    with aur("-i", "--agent", "qa-test", "--session", "killed") as terminal:
        terminal.prompt()
        terminal.line("d")
        terminal.prompt()
    return sessions


def test_list_all_sessions(three: Path, aur: Open) -> None:
    """Session Listing and Filtering: List All Sessions"""
    *table, count = said(aur, "--list-sessions")
    # A time has a space in it, and so may a title, which comes last.
    header, *found = [line.split()[:6] for line in table]
    assert header[:5] == ["session_id", "agent", "turn_count", "created_at", "status"]
    assert [(row[0], row[1], row[2], row[5]) for row in found] == [
        ("killed", "qa-test", "2", "interrupted"),
        ("design", "architect", "2", "completed"),
        ("old", "qa-test", "4", "completed"),
    ]
    for row in found:
        created = lines_of(three / f"{row[0]}.jsonl")[0]["created_at"]
        assert row[3:5] == f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M}".split()
    assert count == "3 sessions"


def listed(aur: Open, *arguments: str) -> list[str]:
    """The ids that a list shows."""
    *rows, count = said(aur, "--list-sessions", *arguments)
    if rows:
        assert rows.pop(0).startswith("session_id ")
    assert count.startswith(f"{len(rows) or 'no'} ")
    return [row.split()[0] for row in rows]


def test_filter_sessions_by_agent(three: Path, aur: Open) -> None:
    """Session Listing and Filtering: Filter Sessions by Agent"""
    assert listed(aur, "--agent", "qa-test") == ["killed", "old"]
    assert listed(aur, "--agent", "architect") == ["design"]
    assert listed(aur, "--agent", "nobody") == []


def test_filter_sessions_by_status(three: Path, aur: Open) -> None:
    """Session Listing and Filtering: Filter Sessions by Status"""
    with aur("-i", "--session", "open") as terminal:
        terminal.prompt()
        assert listed(aur, "--status", "active") == ["open"]
    assert listed(aur, "--status", "completed") == ["design", "old"]
    assert sorted(listed(aur, "--status", "interrupted")) == ["killed", "open"]
    assert listed(aur, "--status", "active") == []


def test_delete_single_session(three: Path, aur: Open) -> None:
    """Session Cleanup: Delete Single Session"""
    assert "Session old deleted." in said(aur, "--delete-session", "old")
    assert not (three / "old.jsonl").exists()
    assert listed(aur) == ["killed", "design"]


def test_clean_old_sessions(three: Path, aur: Open) -> None:
    """Session Cleanup: Clean Old Sessions"""
    age(three / "design.jsonl", 31)
    age(three / "old.jsonl", 29)
    assert "1 session deleted." in said(aur, "--clean-sessions", "30")
    assert listed(aur) == ["killed", "old"]
    assert not (three / "design.jsonl").exists()


def test_automatic_cleanup(three: Path, aur: Open) -> None:
    """Session Cleanup: Automatic Cleanup"""
    age(three / "old.jsonl", 31)
    config = {"spawner": {"interactive": {"session_expiry_days": 30}}}
    (three.parents[1] / "config.json").write_text(json.dumps(config), encoding="utf-8")
    # Whoever asked is answered first, and what is old goes when its terminal is gone already.
    assert listed(aur) == ["killed", "design", "old"]
    deadline = time.monotonic() + 60
    while (three / "old.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [line.split()[0] for line in said(aur, "--list-sessions")[-3:-1]] == ["killed", "design"]


def test_jsonl_format_structure(aur: Open, sessions: Path) -> None:
    """Session File Format: JSONL Format Structure"""
    have(aur, "one", "what?")
    data = (sessions / "one.jsonl").read_bytes()
    assert data.endswith(b"\n")
    head, *turns = [json.loads(line) for line in data.split(b"\n")[:-1]]
    assert head["type"] == "metadata"
    assert {"session_id", "agent", "created_at", "status"} <= head.keys()
    assert [(turn["type"], turn["role"]) for turn in turns] == [
        ("turn", "user"),
        ("turn", "assistant"),
    ]
    for turn in turns:
        assert isinstance(turn["content"], str)
        assert isinstance(turn["tokens"], int)
        assert datetime.fromisoformat(turn["timestamp"]).tzinfo


def test_parse_jsonl_on_load(aur: Open, sessions: Path) -> None:
    """Session File Format: Parse JSONL on Load"""
    sessions.mkdir(parents=True)
    # As the specification shows it, by another program.
    when = "2026-01-12T09:30:00+00:00"
    lines: list[dict[str, Any]] = [
        {"type": "metadata", "session_id": "theirs", "agent": "qa-test", "created_at": when},
        {"type": "turn", "role": "user", "content": "hi", "timestamp": when, "tokens": 1},
        {"type": "turn", "role": "assistant", "content": "yes", "timestamp": when, "tokens": 1},
    ]
    path = sessions / "theirs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with aur("--resume", "theirs") as terminal:
        assert "agent qa-test" in terminal.prompt()
        terminal.line("/history")
        shown = terminal.prompt()
        assert "1. user" in shown
        assert "2. qa-test" in shown
    bad = {"type": "turn", "role": "nobody", "content": "x", "timestamp": when}
    path.write_text(path.read_text() + json.dumps(bad) + "\n", encoding="utf-8")
    with aur("--resume", "theirs") as terminal:
        assert f"error: {path}, line 4: " in terminal.until("[d]elete, [r]ecover, [q]uit")
        terminal.line("q")
        assert terminal.ends() == 5


def test_handle_corrupted_session_file(aur: Open, sessions: Path, tmp_path: Path) -> None:
    """Session File Format: Handle Corrupted Session File"""
    for id in ("deleted", "recovered", "left"):
        have(aur, id, "one", "two")
        path = sessions / f"{id}.jsonl"
        lines = path.read_bytes().split(b"\n")
        lines[2] = lines[2][:20]
        path.write_bytes(b"\n".join(lines))
    damaged = (sessions / "left.jsonl").read_bytes()
    for id, answer, code in (("deleted", "d", 0), ("recovered", "r", 0), ("left", "q", 5)):
        with aur("--resume", id) as terminal:
            shown = terminal.until("[d]elete, [r]ecover, [q]uit")
            assert f"{id}.jsonl, line 3" in " ".join(shown.split())
            terminal.line(answer)
            if answer == "r":
                assert "3 turns so far" in terminal.prompt()
                terminal.keys(CTRL_D)
            assert terminal.ends() == code
            assert "Traceback" not in terminal.raw
    assert not (sessions / "deleted.jsonl").exists()
    assert (sessions / "left.jsonl").read_bytes() == damaged
    assert [line["content"] for line in lines_of(sessions / "recovered.jsonl")[1:]] == [
        "one",
        "two",
        "you said: two",
    ]
    assert len(list(sessions.glob("recovered.jsonl.corrupt*"))) == 1
    done = run_aur(tmp_path, "--resume", "left")
    assert (done.returncode, "hint: " in done.stderr) == (5, True)
    assert (sessions / "left.jsonl").read_bytes() == damaged
    (row,) = [line for line in said(aur, "--list-sessions") if line.startswith("left ")]
    assert "damaged" in row


def test_write_lock_during_save(aur: Open) -> None:
    """Concurrent Session Access: Write Lock During Save"""
    with aur("-i", "--session", "one") as terminal:
        terminal.prompt()
        second = "\n".join(said(aur, "--resume", "one", code=6))
        assert f"is open in process {terminal.process.pid}" in second
        terminal.line("still here")
        assert "you said: still here" in terminal.prompt()


def test_read_during_active_session(aur: Open, tmp_path: Path) -> None:
    """Concurrent Session Access: Read During Active Session"""
    go_on = tmp_path / "go-on"
    with aur("-i", "--session", "one") as terminal:
        terminal.prompt()
        terminal.line("first")
        terminal.prompt()
        terminal.line(f"wait {go_on}")
        terminal.until("waiting")
        # A turn that goes on is not there; the one before it is.
        assert turns_listed(aur) == ("2", "active")
        go_on.touch()
        terminal.prompt()
        assert turns_listed(aur) == ("4", "active")


def turns_listed(aur: Open) -> tuple[str, str]:
    """The turns and the status of the one session."""
    _, row, _ = said(aur, "--list-sessions")
    cells = row.split()
    return cells[2], cells[5]
