"""A thread that a person deletes by `cortext delete`, and has back."""

import subprocess
import sys
from pathlib import Path

from cortext.adapters.langgraph import CortextSaver
from tests.adapters.langgraph.scenes import Model, agent, on, texts

TRIP = on("trip")


def cortext(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cortext", *words],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def say(saver: CortextSaver, text: str) -> int:
    """Say something in the thread; how many messages the model was shown."""
    model = Model()
    agent(saver, model).invoke({"messages": [("user", text)]}, TRIP)
    return len(model.seen[-1])


def test_delete_removes_checkpoints_and_restore_brings_thread_back(tmp_path: Path) -> None:
    """A saver that had it open begins it anew; `restore` brings back both, as they were."""
    saver = CortextSaver(tmp_path / "kept")
    assert say(saver, "To Rome?") == 1
    assert say(saver, "When?") == 3
    files = [tmp_path / "kept/trip.jsonl", tmp_path / "kept/checkpoints/trip.jsonl"]
    before = [path.read_bytes() for path in files]
    cortext("delete", "trip", "--yes")
    assert [path.exists() for path in files] == [False, False]
    assert saver.get_tuple(TRIP) is None
    assert saver.threads() == []
    cortext("trash", "restore", "trip")
    assert [path.read_bytes() for path in files] == before
    assert say(saver, "And back?") == 5
    assert say(CortextSaver(tmp_path / "kept"), "Thanks") == 7


def test_open_saver_starts_new_thread_after_delete(tmp_path: Path) -> None:
    """What it had in memory is no reason to fail, or to know what was deleted."""
    saver = CortextSaver(tmp_path / "kept")
    say(saver, "To Rome?")
    cortext("delete", "trip", "--yes")
    assert say(saver, "To Oslo?") == 1
    found = saver.get_tuple(TRIP)
    assert found is not None
    said = texts(found.checkpoint["channel_values"]["messages"])
    assert said == ["To Oslo?", "I was shown 1"]
