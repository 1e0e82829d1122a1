"""Secrets in the checkpoints of a thread: found, never changed by us, and gone with the thread."""

import subprocess
import sys
from pathlib import Path

import pytest

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.scenes import Model, agent, on

TRIP = on("trip")
SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture(autouse=True)
def langgraph_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def cortext(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cortext", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def say(saver: CortextSaver, text: str) -> int:
    model = Model()
    agent(saver, model).invoke({"messages": [("user", text)]}, TRIP)
    return len(model.seen[-1])


def test_scan_finds_secret_in_checkpoints_until_thread_is_deleted(tmp_path: Path) -> None:
    """They stand there packed; what was said goes on after a redact of the conversation."""
    saver = CortextSaver(tmp_path / "kept")
    say(saver, f"my key is {SECRET}")
    path = tmp_path / "kept/checkpoints/trip.jsonl"
    assert SECRET not in path.read_text(encoding="utf-8")
    found = cortext("scan", "trip")
    assert (found.returncode, found.stderr.count("not looked at")) == (1, 0)
    assert str(path) in found.stdout
    assert "only LangGraph can change its checkpoints" in found.stdout
    before = path.read_bytes()
    done = cortext("redact", "trip", "--yes")
    assert (done.returncode, path.read_bytes() == before) == (1, True)
    assert f"A secret is still in {path}" in done.stderr
    assert SECRET not in (tmp_path / "kept/trip.jsonl").read_text(encoding="utf-8")
    assert say(CortextSaver(tmp_path / "kept"), "And now?") == 3
    assert cortext("delete", "trip", "--yes").returncode == 0
    assert cortext("trash", "empty", "--yes").returncode == 0
    assert cortext("scan", "--all").returncode == 0


def test_scan_reads_checkpoints_without_conversation(tmp_path: Path) -> None:
    """A thread without one is still a thread."""
    say(CortextSaver(tmp_path / "kept"), f"my key is {SECRET}")
    (tmp_path / "kept/trip.jsonl").unlink()
    found = cortext("scan", "--all")
    assert found.returncode == 1
    assert "checkpoints/trip.jsonl" in found.stdout


def test_scan_reports_nothing_for_checkpoints_without_secrets(tmp_path: Path) -> None:
    """Packed values are no false alarm, and nothing is left out."""
    saver = CortextSaver(tmp_path / "kept")
    for number in range(5):
        say(saver, f"To Rome, for the {number}th time?")
    assert cortext("scan", "--all").returncode == 0
