"""Read committed versions of files. Nothing is written, and no program of a repository runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from cortext.git.commit_outcome import NotRecorded
from cortext.git.repository import Repository, find_repository, has_git_above
from cortext.git.run_git import find_git

_MOST = 50
"""The maximum number of commits whose versions are read, the newest first."""


def committed(path: str) -> Iterator[bytes]:
    """Yield the versions of a file in the commits of the current branch, the newest first.

    Yield nothing if the file was never committed, or if git cannot be used.
    """
    folder = os.path.realpath(os.path.dirname(path))
    program = find_git() if has_git_above(folder) else None
    if program is None:
        return
    try:
        repository = find_repository(program, folder)
        inside = _inside(repository, path)
        # rev-list may fail at a damaged commit. The newer commits that it printed are still valid.
        listed = repository.git.run(*_rev_list([inside], f"--max-count={_MOST}", "HEAD"))
        for commit in listed.out.decode("ascii", "replace").split():
            found = repository.git.run("cat-file", "blob", f"{commit}:{inside}")
            if not found.code:
                yield found.out
    except NotRecorded:
        return


def has_committed(folder: str, files: Sequence[str]) -> bool:
    """Return whether a commit of any branch has one of these files, which are in `folder`.

    Raises NotRecorded if the folder is in a repository, but git cannot be used.
    """
    folder = os.path.realpath(folder)
    if not files or not has_git_above(folder):
        return False
    program = find_git()
    if program is None:
        raise NotRecorded("no-git", "git is not installed")
    repository = find_repository(program, folder)
    inside = [_inside(repository, path) for path in files]
    return bool(repository.git.read(*_rev_list(inside, "--max-count=1", "--all")))


def _rev_list(inside: Sequence[str], *which: str) -> tuple[str, ...]:
    """Return the git arguments that list the commits of these paths, the newest first."""
    return "--literal-pathspecs", "rev-list", *which, "--", *inside


def _inside(repository: Repository, path: str) -> str:
    """Return the path of a file relative to the top of the repository."""
    folder, name = os.path.split(path)
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), repository.top)
