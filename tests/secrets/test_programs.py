"""Secrets in what programs keep by an adapter: its log, its sub-agents, its framework's state."""

from pathlib import Path

import pytest

from cortext import SessionMessage
from cortext.adapters.kept import Kept
from tests.command import cortext, ok

SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def keep(where: Path | None, id: str, text: str, **head: str) -> None:
    kept = Kept(where, "tests", remembered=where is None)
    kept.append(id, [SessionMessage("user", text)], lambda: kept.new_session(id, **head))
    kept.close()


def test_it_is_masked_in_the_log_and_its_sub_agents(home: Path) -> None:
    """Nothing of ours has it afterwards, the indexes included."""
    programs = home / "data/cortext/programs"
    keep(None, "talk", f"use {SECRET}")
    keep(programs / "subagents", "agent-1", f"I use {SECRET}", parent_id="talk")
    keep(programs / "subagents", "agent-2", "nothing here", parent_id="other")
    assert "talk" in ok(home, "search", "use")
    found = cortext(home, "scan", "talk")
    assert found.returncode == 1
    assert "agent-1" in found.stdout
    ok(home, "redact", "talk", "--yes")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert cortext(home, "scan", "talk").returncode == 0


def test_the_state_of_a_framework_is_named(home: Path) -> None:
    """It holds what was said in a form that only the framework reads."""
    keep(None, "thread", "hello")
    keep(home / "data/cortext/programs/checkpoints", "thread", "x")
    done = cortext(home, "scan", "thread")
    assert "checkpoints/thread.jsonl" in done.stderr
    assert "only that can change" in done.stderr
