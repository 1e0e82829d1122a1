"""Fixtures for the search."""

from pathlib import Path

import pytest

from tests.catalog.spaces import Space


@pytest.fixture
def current_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Space:
    found = Space(tmp_path / "space")
    monkeypatch.chdir(found.root)
    return found
