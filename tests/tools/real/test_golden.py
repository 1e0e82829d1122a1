"""The recorded transcripts are whole, small, and tell nothing of the machine that made them."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from tests.tools.real.install import PACKAGES
from tests.tools.real.record import GOLDEN, TURNS

RECORDINGS = [GOLDEN / name / version for name, it in PACKAGES.items() for version in it.versions]
ids = [f"{path.parent.name}-{path.name}" for path in RECORDINGS]


def everything(recording: Path, session: str) -> str:
    """All texts of one session as the tool keeps them, decoded."""
    script = recording / "opencode.sql"
    if script.exists():
        with sqlite3.connect(":memory:") as database:
            database.executescript(script.read_text(encoding="utf-8"))
            rows = database.execute("SELECT data FROM part WHERE session_id = ?", (session,))
            lines = [data for (data,) in rows]
        database.close()
    else:
        files = [path for path in recording.rglob("*.jsonl") if session[:8] in path.name]
        lines = [line for path in files for line in path.read_bytes().split(b"\n") if line]
    return "\n".join(text for line in lines for text in strings(json.loads(line)))


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


@pytest.mark.parametrize("recording", RECORDINGS, ids=ids)
def test_golden_recording_contains_every_text(recording: Path) -> None:
    """Word for word, six turns or more in each session, and what the tool call read."""
    said = json.loads((recording / "said.json").read_text(encoding="utf-8"))
    assert len(said) == (2 if recording.parent.name == "claude" else 1)
    for session, turns in said.items():
        held = everything(recording, session)
        assert [text for _, text in turns if text not in held] == []
        assert [text for role, text in turns if role == "user"][:6] == [ask for ask, _ in TURNS]
        assert "The cache is never emptied.\n" in held


@pytest.mark.parametrize("recording", RECORDINGS, ids=ids)
def test_golden_recording_is_small_and_contains_no_machine_path(recording: Path) -> None:
    """Below 300 KB a file, and no path of the temp folder or the cache."""
    for path in recording.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert len(text.encode()) < 300_000, path
            assert re.findall(r"cortext-(?:record|test-cache|home)[^\"\s]*", text) == [], path
