"""The worktrees of a repository, as the real git makes them."""

import os
import subprocess
from pathlib import Path

import pytest

from cortext.git.worktrees import same_folders


@pytest.fixture
def repository(tmp_path: Path, git_identity: None) -> Path:
    """A repository with one commit and one more worktree."""
    root = tmp_path / "main"
    (root / "src").mkdir(parents=True)
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", str(tmp_path / "other")],
    ):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    return root


def test_folder_of_main_worktree_belongs_to_all_worktrees(repository: Path) -> None:
    other = repository.parent / "other"
    assert same_folders(str(repository)) == [str(repository), str(other)]
    assert same_folders(str(repository / "src")) == [str(repository / "src"), str(other / "src")]


def test_folder_of_linked_worktree_belongs_to_all_worktrees(repository: Path) -> None:
    other = repository.parent / "other"
    assert same_folders(str(other)) == [str(other), str(repository)]


def test_folder_outside_of_repositories_stands_alone(tmp_path: Path) -> None:
    assert same_folders(str(tmp_path)) == [str(tmp_path)]


def test_damaged_git_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"\xff\xfe nothing")
    assert same_folders(str(tmp_path)) == [str(tmp_path)]


def test_pipe_named_git_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert same_folders(str(tmp_path)) == [str(tmp_path)]


def test_git_file_with_nul_character_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: /no\0where\n")
    assert same_folders(str(tmp_path)) == [str(tmp_path)]


def test_worktree_with_relative_paths_belongs_to_its_repository(repository: Path) -> None:
    """Write what git 2.48 writes with `worktree.useRelativePaths`."""
    other = repository.parent / "other"
    link = repository / ".git/worktrees/other/gitdir"
    link.write_text("../../../../other/.git\n", encoding="utf-8")
    (other / ".git").write_text("gitdir: ../main/.git/worktrees/other\n", encoding="utf-8")
    assert same_folders(str(repository)) == [str(repository), str(other)]
    assert same_folders(str(other)) == [str(other), str(repository)]


def test_submodule_stands_alone(repository: Path) -> None:
    module = repository / "lib"
    module.mkdir()
    (repository / ".git/modules/lib").mkdir(parents=True)
    (module / ".git").write_text("gitdir: ../.git/modules/lib\n", encoding="utf-8")
    assert same_folders(str(module)) == [str(module)]
