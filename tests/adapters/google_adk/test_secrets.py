"""Secrets in the state that sessions of a user share: found, and masked."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.adapters.google_adk import CortextSessionService

SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture(autouse=True)
def adk_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def cortext(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cortext", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def begin(folder: Path, session: str) -> None:
    state = {"user:token": SECRET, "app:rate": 1.50, "own": "here"}
    service = CortextSessionService(folder)
    made = service.create_session(app_name="shop", user_id="ann", session_id=session, state=state)
    asyncio.run(made)


@pytest.mark.parametrize("listed", [True, False])
def test_redact_removes_secret_from_shared_user_state(listed: bool, tmp_path: Path) -> None:
    """Whether a session is left that shares it or not; all else stays as it was."""
    kept = tmp_path / "kept"
    begin(kept, "one")
    begin(kept, "two")
    for path in kept.glob("*.jsonl") if not listed else ():
        path.unlink()
    holding = [path for path in kept.rglob("*.jsonl") if SECRET in path.read_text(encoding="utf-8")]
    assert [path.parent.name for path in holding] == ["state"]
    found = cortext("scan", "--all")
    assert (found.returncode, found.stdout.count("github-token")) == (1, 1)
    assert str(holding[0]) in found.stdout
    done = cortext("redact", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    service = CortextSessionService(kept)
    made = service.create_session(app_name="shop", user_id="ann", session_id="three", state={})
    state = asyncio.run(made).state
    assert state["user:token"].startswith("[redacted github-token ")
    assert state["app:rate"] == 1.50
