"""What git has of a file: nothing is written, and nothing that a repository names is run."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cortext.vcs.outcome import NotRecorded
from cortext.vcs.repository import find_repository, has_git_above
from cortext.vcs.run import find_git

_MOST = 50
"""Commits that are looked through, the newest first."""


def committed(path: str) -> Iterator[bytes]:
    """A file as the commits of this branch have it, the newest first; nothing where git has it
    not, or cannot be asked."""
    folder, name = os.path.split(path)
    folder = os.path.realpath(folder)
    program = find_git() if has_git_above(folder) else None
    if program is None:
        return
    try:
        repository = find_repository(program, folder)
        inside = os.path.relpath(os.path.join(folder, name), repository.top)
        listed = repository.git.run(
            "--literal-pathspecs", "rev-list", f"--max-count={_MOST}", "HEAD", "--", inside
        )
        for commit in listed.out.decode("ascii", "replace").split():
            found = repository.git.run("cat-file", "blob", f"{commit}:{inside}")
            if not found.code:
                yield found.out
    except NotRecorded:
        return
