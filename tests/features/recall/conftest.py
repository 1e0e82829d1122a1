"""Somebody who uses Claude Code, and a repository of theirs."""

from pathlib import Path

import pytest

from tests.cli.claude_person import Person
from tests.command import git


@pytest.fixture
def recall_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Person:
    """Somebody with an empty HOME. No background process starts."""
    made = Person(tmp_path)
    made.home.mkdir()
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CI", "true")
    return made


@pytest.fixture
def project(recall_person: Person) -> Path:
    folder = recall_person.project("project")
    git(folder, "init", "-q", "-b", "main")
    return folder
