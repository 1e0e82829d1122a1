"""Fixtures for secrets."""

from pathlib import Path

import pytest

from tests.command import ok


@pytest.fixture
def secret_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, in a home of its own."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "space"
    root.mkdir()
    ok(root, "init")
    return root
