"""Fixtures for the commands."""

from pathlib import Path

import pytest

from tests.cli.list_terminal import made
from tests.command import ok


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace without conversations."""
    return made(tmp_path / "space")


@pytest.fixture
def empty_workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    ok(root, "init")
    return root
