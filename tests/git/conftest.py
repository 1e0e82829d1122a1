"""git with a name and without this machine's configuration; a workspace to record."""

from pathlib import Path

import pytest

from tests.git.space import Space


@pytest.fixture(autouse=True)
def _git(git_identity: None) -> None:
    """Every test here runs git."""


@pytest.fixture
def repository_space(tmp_path: Path) -> Space:
    """A workspace that is the top of its repository, with one commit."""
    return Space(tmp_path / "work").begin()


@pytest.fixture
def plain_space(tmp_path: Path) -> Space:
    """A workspace without a repository."""
    return Space(tmp_path / "work")
