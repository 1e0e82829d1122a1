"""Read the versions of files that were committed to git.

Nothing is written. Git does not start any program that the repository's settings name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from cortext.git.commit_outcome import NotRecordedError
from cortext.git.repository import Repository, find_repository, has_git_above
from cortext.git.run_git import find_git

_MOST_COMMITS = 50
"""The maximum number of commits from which a file is read, the newest first."""


def committed(path: str) -> Iterator[bytes]:
    """Yield the contents of a file in the commits of the current branch, the newest first.

    At most 50 commits are read. Yield nothing if the file was never committed, or if git cannot be
    used.
    """
    folder = os.path.realpath(os.path.dirname(path))
    program = find_git() if has_git_above(folder) else None
    if program is None:
        return
    try:
        repository = find_repository(program, folder)
        relative_path = _path_in_repository(repository, path)
        # rev-list may fail at a damaged commit. The newer commits that it printed are still valid.
        commits = repository.git.run(
            *_rev_list_arguments([relative_path], f"--max-count={_MOST_COMMITS}", "HEAD")
        )
        for commit in commits.out.decode("ascii", "replace").split():
            blob = repository.git.run("cat-file", "blob", f"{commit}:{relative_path}")
            if not blob.code:
                yield blob.out
    except NotRecordedError:
        return


def has_committed(folder: str, files: Sequence[str]) -> bool:
    """Return whether any commit of any branch contains at least one of these files.

    `files` has their paths, and `folder` is their folder. Raises NotRecordedError if the folder is
    in a repository, but git cannot be used.
    """
    folder = os.path.realpath(folder)
    if not files or not has_git_above(folder):
        return False
    program = find_git()
    if program is None:
        raise NotRecordedError("no-git", "git is not installed")
    repository = find_repository(program, folder)
    relative_paths = [_path_in_repository(repository, path) for path in files]
    return bool(repository.git.read(*_rev_list_arguments(relative_paths, "--max-count=1", "--all")))


def _rev_list_arguments(paths: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return the arguments for `git rev-list` to list the commits that changed these paths."""
    return "--literal-pathspecs", "rev-list", *options, "--", *paths


def _path_in_repository(repository: Repository, path: str) -> str:
    """Return the path of a file relative to the top of the repository."""
    folder, name = os.path.split(path)
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), repository.top)
