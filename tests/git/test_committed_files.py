"""Reading what git has of a file."""

import os
from pathlib import Path

import pytest

from cortext.git.commit_outcome import NotRecordedError
from cortext.git.committed_files import committed, has_committed
from tests.git.plants import Plants
from tests.git.space import HEAD, Space


def test_committed_yields_newest_version_first(repository_space: Space) -> None:
    """Also of a file that is gone from the disk, and whatever its name is a pattern of."""
    odd = "a[b]*.md"
    for text in ("first\n", "second\n"):
        repository_space.write(HEAD, text)
        repository_space.write(odd, text)
        repository_space.record("auto", HEAD, odd)
    (repository_space.folder / HEAD).unlink()
    assert list(committed(str(repository_space.folder / HEAD))) == [b"second\n", b"first\n"]
    assert list(committed(str(repository_space.folder / odd))) == [b"second\n", b"first\n"]


def test_committed_yields_nothing_for_uncommitted_file(
    repository_space: Space, tmp_path: Path
) -> None:
    """No commit, no repository, no git: nothing, and no error."""
    assert list(committed(str(repository_space.folder / "never.md"))) == []
    assert list(committed(str(tmp_path / "elsewhere.md"))) == []


def test_committed_yields_nothing_without_git(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without it has no versions to give."""
    repository_space.record("auto", HEAD)
    monkeypatch.setenv("PATH", os.devnull)
    assert list(committed(str(repository_space.folder / HEAD))) == []


def test_has_committed_searches_all_branches(repository_space: Space) -> None:
    """Whatever a file's name is a pattern of; what git never had is in none."""
    odd = repository_space.folder / "a[b]*.md"
    odd.write_text("x\n")
    assert not has_committed(str(repository_space.folder), [str(odd)])
    repository_space.git("switch", "-q", "-c", "other")
    repository_space.record("auto", odd.name)
    repository_space.git("switch", "-q", "main")
    assert has_committed(
        str(repository_space.folder), [str(repository_space.folder / HEAD), str(odd)]
    )
    assert not has_committed(str(repository_space.folder), [str(repository_space.folder / HEAD)])
    assert not has_committed(str(repository_space.folder), [])


def test_has_committed_is_false_without_commits(plain_space: Space) -> None:
    assert not has_committed(str(plain_space.folder), [str(plain_space.folder / HEAD)])
    plain_space.init()
    assert not has_committed(str(plain_space.folder), [str(plain_space.folder / HEAD)])


def test_has_committed_raises_without_git(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(NotRecordedError, match="git is not installed"):
        has_committed(str(repository_space.folder), [str(repository_space.folder / HEAD)])


@pytest.mark.parametrize("where", ["config", "include", "includeIf", "worktree"])
def test_committed_runs_no_planted_program(
    repository_space: Space, tmp_path: Path, where: str
) -> None:
    """No filter, helper or monitor of the repository, and the bytes are those of the commit."""
    plants = Plants(repository_space, tmp_path / "marks")
    repository_space.record("auto", HEAD)
    plants.plant(where)
    assert list(committed(str(repository_space.folder / HEAD))) == [f"{HEAD}, first\n".encode()]
    assert plants.fired == set()
