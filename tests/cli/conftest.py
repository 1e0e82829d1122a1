"""Fixtures for the commands."""

from pathlib import Path

import pytest

from tests.cli.list_terminal import made


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace without conversations."""
    return made(tmp_path / "space")
