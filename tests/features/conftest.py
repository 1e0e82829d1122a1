"""Fixtures for several features."""

from pathlib import Path

import pytest

from tests.features.capture_bench import VERSIONS, Bench


@pytest.fixture(params=VERSIONS)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(request.param, tmp_path, monkeypatch)


@pytest.fixture
def claude_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench("claude", tmp_path, monkeypatch)
