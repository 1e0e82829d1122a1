"""Fixtures for slash commands."""

from pathlib import Path

import pytest

from tests.command import ok
from tests.features.slash.slash_input import ID


@pytest.fixture
def claude_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, in a session of Claude Code."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", ID)
    space = tmp_path / "space"
    space.mkdir()
    ok(space, "init")
    return space
