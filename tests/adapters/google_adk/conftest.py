"""Each test has a place of its own for what is kept by default."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs keep their sessions by default, each test's own."""
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / f"home-{name.lower()}"))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "home-aurora"))
    return tmp_path / "home-data"
